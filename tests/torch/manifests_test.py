"""The manifests under tools/torch/launch are consistent: names, numbers and ports agree.

Every field must be one of manifest_fields.py, an extract of Kubernetes' schemas, with its type.
torchrun's options are read by its own parser.
"""

import os
import pathlib
import re
import subprocess

import yaml
from torch.distributed import run as torchrun

import manifest_fields

LAUNCH = pathlib.Path(__file__).resolve().parents[2] / "tools/torch/launch"


def documents(name):
    return list(yaml.safe_load_all((LAUNCH / name).read_text()))


def options_of(command, **variables):
    """What torchrun reads from its command line and its PET_ variables; $(NAME) as Kubernetes puts it in."""
    assert command[0] == "torchrun", command
    words = [re.sub(r"\$\((\w+)\)", lambda name: variables[name[1]], word) for word in command[1:]]
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        return torchrun.parse_args(words)
    finally:
        os.environ.clear()
        os.environ.update(before)


def program_of(command):
    return next(word for word in command if word.endswith(".py"))


def test_fields_are_kubernetes():
    for path in sorted(LAUNCH.glob("*.yaml")):
        for document in documents(path.name):
            manifest_fields.check(document)
    service = {"apiVersion": "v1", "kind": "Service"}
    for wrong, words in (({"apiVersion": "v1", "kind": "Job"}, "v1 Job"),
                         (service | {"metadata": {"name": "Train"}, "spec": {}}, "Train"),
                         (service | {"metadata": {"name": "train"}}, "spec")):
        try:
            manifest_fields.check(wrong)
        except ValueError as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"not refused: {wrong}")


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
    assert {"JOB_COMPLETION_INDEX", "OMP_NUM_THREADS"} == {one["name"] for one in container["env"]}
    options = options_of(container["command"], JOB_COMPLETION_INDEX="2")
    assert options.nnodes == str(spec["completions"]) and options.node_rank == 2
    assert options.master_addr == f"{name}-0.{pod['subdomain']}"
    assert options.master_port == service["spec"]["ports"][0]["port"]
    assert options.training_script_args == ["--backend=rondo"], options
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
        assert [one["name"] for one in container["env"]] == ["OMP_NUM_THREADS"]
        options = options_of(container["command"], PET_NNODES="4", PET_NPROC_PER_NODE="2",
                             PET_NODE_RANK="3", PET_MASTER_ADDR="train-master-0", PET_MASTER_PORT="23456")
        assert (options.nnodes, options.nproc_per_node, options.node_rank) == ("4", "2", 3), options
        assert (options.master_addr, options.master_port) == ("train-master-0", 23456), options
        assert options.training_script_args == ["--backend=rondo"], options
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
