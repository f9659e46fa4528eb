"""The manifests under tools/torch/launch hold together: names, numbers and ports that belong together.

Kubernetes' schemas are not checked.
"""

import pathlib
import subprocess

import yaml

LAUNCH = pathlib.Path(__file__).resolve().parents[2] / "tools/torch/launch"


def documents(name):
    return list(yaml.safe_load_all((LAUNCH / name).read_text()))


def options_of(command):
    """torchrun's options: {name: value}"""
    assert command[0] == "torchrun", command
    return dict(word[2:].split("=", 1) for word in command if word.startswith("--") and "=" in word)


def program_of(command):
    return next(word for word in command if word.endswith(".py"))


def check_container(container, volumes):
    repository = LAUNCH.parents[2]
    assert (repository / program_of(container["command"])).exists()
    mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"]: "/dev/shm" for volume in volumes}
    assert all(volume["emptyDir"]["medium"] == "Memory" for volume in volumes)


def test_indexed_job():
    service, job = documents("indexed-job.yaml")
    assert (service["apiVersion"], service["kind"]) == ("v1", "Service")
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    assert service["spec"]["clusterIP"] == "None", "headless: pods find each other's addresses"
    name, spec, pod = job["metadata"]["name"], job["spec"], job["spec"]["template"]["spec"]
    assert service["spec"]["selector"] == {"job-name": name}
    assert pod["subdomain"] == service["metadata"]["name"]
    assert spec["completionMode"] == "Indexed" and spec["completions"] == spec["parallelism"]
    container, = pod["containers"]
    options = options_of(container["command"])
    assert options["nnodes"] == str(spec["completions"])
    assert options["master-addr"] == f"{name}-0.{pod['subdomain']}"
    assert options["master-port"] == str(service["spec"]["ports"][0]["port"])
    variables = {variable["name"] for variable in container["env"]}
    assert options["node-rank"] == "$(JOB_COMPLETION_INDEX)" and "JOB_COMPLETION_INDEX" in variables
    check_container(container, pod["volumes"])


def test_pytorchjob():
    job, = documents("pytorchjob.yaml")
    assert (job["apiVersion"], job["kind"]) == ("kubeflow.org/v1", "PyTorchJob")
    replicas = job["spec"]["pytorchReplicaSpecs"]
    assert replicas["Master"]["replicas"] == 1 and replicas["Worker"]["replicas"] >= 1
    assert isinstance(job["spec"]["nprocPerNode"], str), "the operator wants a text"
    for replica in replicas.values():
        pod = replica["template"]["spec"]
        container, = pod["containers"]
        assert container["name"] == "pytorch", "the operator looks for this name"
        assert options_of(container["command"]) == {"backend": "rondo"}, "PET_ variables say the rest"
        check_container(container, pod["volumes"])


def test_batch_script():
    path = LAUNCH / "train.sbatch"
    subprocess.run(["bash", "-n", path], check=True)
    text = path.read_text()
    assert text.startswith("#!/bin/bash\n") and "exec srun" in text
    first_command = text.index("\nset -euo pipefail")
    assert text.rindex("\n#SBATCH") < first_command, "Slurm reads no #SBATCH after a command"


if __name__ == "__main__":
    for name, test in sorted(globals().copy().items()):
        if name.startswith("test_"):
            test()
            print(f"passed: {name}")
