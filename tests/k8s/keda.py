"""KEDA's custom resources as far as offturn uses them, closed: a misspelt field is refused, not ignored.

KEDA reads a trigger's metadata as text of any name, and its own schema says no more; the names are those of its scalers.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Digits = Annotated[str, StringConstraints(pattern=r"^\d+$")]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)


class _Reference(_Closed):
    name: str


class RedisMetadata(_Closed):
    list_name: str = Field(alias="listName")
    list_length: Digits = Field(alias="listLength")
    activation_list_length: Digits = Field(alias="activationListLength")
    address: str | None = None
    database_index: Digits | None = Field(default=None, alias="databaseIndex")
    enable_tls: Literal["true", "false"] | None = Field(default=None, alias="enableTLS")


class RedisTrigger(_Closed):
    type: Literal["redis"]
    name: str
    metric_type: Literal["AverageValue", "Value"] = Field(alias="metricType")
    metadata: RedisMetadata
    authentication_ref: _Reference = Field(alias="authenticationRef")


class MetricsApiMetadata(_Closed):
    url: str
    format: Literal["prometheus"]
    value_location: str = Field(alias="valueLocation")
    target_value: Digits = Field(alias="targetValue")
    activation_target_value: Digits = Field(alias="activationTargetValue")


class MetricsApiTrigger(_Closed):
    type: Literal["metrics-api"]
    name: str
    metric_type: Literal["AverageValue", "Value"] = Field(alias="metricType")
    metadata: MetricsApiMetadata


class _Policy(_Closed):
    type: Literal["Pods", "Percent"]
    value: int = Field(ge=1)
    period_seconds: int = Field(ge=1, le=1800, alias="periodSeconds")


class Scaling(_Closed):
    stabilization_window_seconds: int = Field(ge=0, le=3600, alias="stabilizationWindowSeconds")
    policies: list[_Policy]


class _Behavior(_Closed):
    scale_up: Scaling = Field(alias="scaleUp")
    scale_down: Scaling = Field(alias="scaleDown")


class _Autoscaler(_Closed):
    behavior: _Behavior


class _Advanced(_Closed):
    autoscaler: _Autoscaler = Field(alias="horizontalPodAutoscalerConfig")


class Fallback(_Closed):
    failure_threshold: int = Field(ge=1, alias="failureThreshold")
    replicas: int = Field(ge=0)
    behavior: Literal["static", "currentReplicas", "currentReplicasIfHigher", "currentReplicasIfLower"]


class Scaled(_Closed):
    """`spec` of a ScaledObject."""

    target: _Reference = Field(alias="scaleTargetRef")
    polling_interval: int = Field(ge=1, alias="pollingInterval")
    cooldown_period: int | None = Field(default=None, ge=0, alias="cooldownPeriod")
    min_replica_count: int = Field(ge=0, alias="minReplicaCount")
    max_replica_count: int = Field(ge=1, alias="maxReplicaCount")
    fallback: Fallback
    advanced: _Advanced
    triggers: list[Annotated[RedisTrigger | MetricsApiTrigger, Field(discriminator="type")]]

    @property
    def scale_down(self) -> Scaling:
        return self.advanced.autoscaler.behavior.scale_down


class _SecretTarget(_Closed):
    parameter: Literal["address", "username", "password", "ca", "tls"]
    name: str
    key: str


class _Authentication(_Closed):
    secrets: list[_SecretTarget] = Field(alias="secretTargetRef")


class _Object(_Closed):
    api_version: Literal["keda.sh/v1alpha1"] = Field(alias="apiVersion")
    metadata: dict[str, Any]


class ScaledObject(_Object):
    kind: Literal["ScaledObject"]
    spec: Scaled


class TriggerAuthentication(_Object):
    kind: Literal["TriggerAuthentication"]
    spec: _Authentication


KINDS: dict[str, type[_Object]] = {"ScaledObject": ScaledObject, "TriggerAuthentication": TriggerAuthentication}
