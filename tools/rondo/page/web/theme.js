// Light or dark: the system decides until the reader uses the switch.

class Theme {
  constructor(button, onChange) {
    this.button = button;
    this.onChange = onChange;
    this.system = window.matchMedia("(prefers-color-scheme: dark)");
    this.system.addEventListener("change", () => this.apply());
    button.addEventListener("click", () => this.toggle());
    this.apply();
  }

  get dark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen === undefined ? this.system.matches : chosen === "dark";
  }

  toggle() {
    document.documentElement.dataset.theme = this.dark ? "light" : "dark";
    this.apply();
  }

  apply() {
    this.button.setAttribute("aria-pressed", `${this.dark}`);
    this.onChange();
  }
}
