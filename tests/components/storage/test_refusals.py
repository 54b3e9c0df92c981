"""What a user reads if the S3 server cannot be used."""

import pytest

from components.errors import StorageError
from components.settings import StorageConfig
from components.storage import open_store


def test_wrong_secret(s3_settings: StorageConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    open_store(s3_settings)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(StorageError, match="refused the credentials .* AWS_SECRET_ACCESS_KEY"):
        open_store(s3_settings)


def test_no_credentials(s3_settings: StorageConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(StorageError, match="no credentials; set AWS_ACCESS_KEY_ID"):
        open_store(s3_settings)


def test_no_bucket(s3_settings: StorageConfig) -> None:
    settings = s3_settings.model_copy(update={"uri": "s3://misspelt/prefix"})
    with pytest.raises(StorageError, match="bucket 'misspelt' does not exist .*; create it first"):
        open_store(settings)


def test_no_server(s3_settings: StorageConfig) -> None:
    settings = s3_settings.model_copy(update={"endpoint_url": "http://127.0.0.1:1"})
    with pytest.raises(StorageError, match="http://127.0.0.1:1 cannot be reached"):
        open_store(settings)
