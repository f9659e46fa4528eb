// Starts the page when it has been read. `rondoPage` lets tests and curious readers look at the
// state, but not change it.

function start() {
  const data = JSON.parse(byId("data").textContent);
  const app = new App(data);
  const theme = new Theme(byId("theme"), () => app.recolour());
  const controls = new Controls(app);
  app.replay();
  controls.chosen();
  const editor = new Editor(byId("editor"), (schedule) => {
    app.schedules = [...app.schedules.filter((each) => !each.typed),
      { ...onHosts(schedule, data), typed: true, algorithm: schedule.algorithm || "your own" }];
    app.showAlgorithms([app.schedules.length - 1]);
  });
  // A long text is written out only when somebody looks at it.
  const fill = () => {
    if (byId("editor").open && editor.area.value === "")
      editor.set(scheduleText(app.schedules[0]));
  };
  byId("editor").addEventListener("toggle", fill);
  byId("command").textContent = data.command;
  byId("command-box").hidden = data.command === "";
  const list = document.querySelector(".scenes");
  if (list) {
    controls.scenes = new Scenes(list, app, { controls, quiz: controls.quiz, editor });
    controls.scenes.show(0);
  }
  document.documentElement.dataset.ready = "true";
  window.rondoPage = Object.freeze({ app, theme, controls, checkText, scheduleText, roundDigests,
    outputsDigest, layoutOf, timeOverSize });
}

start();
