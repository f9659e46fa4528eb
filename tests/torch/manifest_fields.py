"""Fields of Kubernetes' objects that the manifests under tools/torch/launch may use, and their types.

An extract of the published schemas of core/v1, batch/v1 and kubeflow.org/v1: check() refuses what is
not in it, as a server that validates strictly refuses what it does not know.
"""

import re

NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")     # of a DNS label
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*$")
QUANTITY = re.compile(r"[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$")
TEXT, NUMBER, YES_OR_NO = re.compile(r"."), int, bool


def one_of(*words):
    return re.compile("(" + "|".join(words) + ")$")


def required(fields):
    """Marks fields that must be there."""
    return {name + "!": kind for name, kind in fields.items()}


METADATA = required({"name": NAME}) | {"namespace": NAME, "labels": {"*": TEXT}, "annotations": {"*": TEXT}}
CONTAINER = required({"name": NAME, "image": TEXT, "command": [TEXT]}) | {
    "args": [TEXT],
    "env": [required({"name": VARIABLE}) | {
        "value": TEXT, "valueFrom": {"fieldRef": required({"fieldPath": TEXT})}}],
    "resources": {"requests": {"*": QUANTITY}, "limits": {"*": QUANTITY}},
    "volumeMounts": [required({"name": NAME, "mountPath": re.compile("/.")})]}
POD = required({"containers": [CONTAINER]}) | {
    "subdomain": NAME, "restartPolicy": one_of("Always", "OnFailure", "Never"),
    "volumes": [required({"name": NAME}) | {
        "emptyDir": {"medium": one_of("Memory"), "sizeLimit": QUANTITY}}]}
TEMPLATE = required({"spec": POD}) | {"metadata": {"labels": {"*": TEXT}}}
SERVICE = {"clusterIP": TEXT, "publishNotReadyAddresses": YES_OR_NO} | required({
    "selector": {"*": TEXT}, "ports": [required({"port": NUMBER}) | {"name": NAME}]})
JOB = {"completionMode": one_of("Indexed", "NonIndexed"), "completions": NUMBER, "parallelism": NUMBER,
       "backoffLimit": NUMBER} | required({"template": TEMPLATE})
REPLICA = required({"replicas": NUMBER, "template": TEMPLATE}) | {
    "restartPolicy": one_of("Always", "OnFailure", "Never", "ExitCode")}
PYTORCH_JOB = {"nprocPerNode": TEXT, "runPolicy": {"cleanPodPolicy": one_of("None", "Running", "All")}} | \
    required({"pytorchReplicaSpecs": {"Master": REPLICA, "Worker": REPLICA}})
SPECIFICATIONS = {("v1", "Service"): SERVICE, ("batch/v1", "Job"): JOB,
                  ("kubeflow.org/v1", "PyTorchJob"): PYTORCH_JOB}


def check(document):
    """Raises ValueError that names the first field that is wrong, unknown or missing."""
    kind = document.get("apiVersion"), document.get("kind")
    if kind not in SPECIFICATIONS:
        raise ValueError(f"no object {kind[0]} {kind[1]}; there are {sorted(SPECIFICATIONS)}")
    check_value(document, required({"apiVersion": TEXT, "kind": TEXT, "metadata": METADATA,
                                    "spec": SPECIFICATIONS[kind]}), kind[1])


def check_value(value, wanted, place):
    if isinstance(wanted, dict):
        check_fields(value, wanted, place)
    elif isinstance(wanted, list):
        if not isinstance(value, list) or not value:
            raise ValueError(f"{place}: {value!r} is no list of anything")
        for number, one in enumerate(value):
            check_value(one, wanted[0], f"{place}[{number}]")
    elif isinstance(wanted, type):
        if type(value) is not wanted:
            raise ValueError(f"{place}: {value!r} is no {wanted.__name__}")
    elif not isinstance(value, str) or not wanted.match(value):
        raise ValueError(f"{place}: {value!r} is no text like {wanted.pattern}")


def check_fields(value, wanted, place):
    if not isinstance(value, dict):
        raise ValueError(f"{place}: {value!r} has no fields")
    missing = [name for name in wanted if name.endswith("!") and name[:-1] not in value]
    if missing:
        raise ValueError(f"{place}: {missing[0][:-1]} is missing")
    for name, one in value.items():
        kind = wanted.get(name + "!", wanted.get(name, wanted.get("*")))
        if kind is None:
            raise ValueError(f"{place}: no field {name}; there are {', '.join(wanted)}")
        check_value(one, kind, f"{place}.{name}")
