"""Certificates for a cluster: who holds them may connect, and nobody else; for all parts of Dask."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from autograder.errors import EnvironmentProblem, UsageError

FOLDER = ".dask-tls"  # in the course's root
_AUTHORITY, _CERTIFICATE, _KEY, _CONFIG = "ca.pem", "cert.pem", "key.pem", "dask.yaml"
_ROLES = ("scheduler", "worker", "client")


@dataclass(frozen=True, slots=True)
class Certificates:
    """Those in ``folder``: an authority's, and one certificate with its key, which all roles show."""

    folder: Path

    @property
    def config(self) -> Path:
        """A file of settings for Dask's own commands: ``DASK_CONFIG`` is to name it."""
        return self.folder / _CONFIG

    def require(self) -> Certificates:
        """These, if they are there.

        Raises:
            EnvironmentProblem: they are not; the sentence says how to make them.
        """
        for name in (_AUTHORITY, _CERTIFICATE, _KEY):
            if not os.access(self.folder / name, os.R_OK):
                raise EnvironmentProblem(
                    f"There are no certificates in {self.folder}. Make them with `course certificates`, start the "
                    "scheduler and its workers with them (docs/clusters.md), or name others with --certificates DIR."
                )
        again = "Remove the folder, make new ones with `course certificates`, and start the cluster with them."
        try:
            ssl.create_default_context(cafile=self.folder / _AUTHORITY)
            # With a password, which no key of ours has, nobody is asked for one: Dask could not be told it either.
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.load_cert_chain(self.folder / _CERTIFICATE, self.folder / _KEY, password="")
        except (OSError, ValueError) as error:
            raise EnvironmentProblem(f"The certificates in {self.folder} are damaged. {again}") from error
        if (end := self._end()) is not None and end < datetime.now(UTC):
            raise EnvironmentProblem(
                f"The certificates in {self.folder} were valid until {end:%Y-%m-%d %H:%M} UTC. {again}"
            )
        return self

    def _end(self) -> datetime | None:
        """Until when they are valid; None where the library that reads them is not installed."""
        try:
            from cryptography import x509
        except ImportError:
            return None
        end: datetime = x509.load_pem_x509_certificate((self.folder / _CERTIFICATE).read_bytes()).not_valid_after_utc
        return end

    def security(self) -> Any:
        """What Dask wants to know, as its ``Security``."""
        from distributed.security import Security

        own = {"tls_ca_file": str(self.folder / _AUTHORITY)}
        for role in _ROLES:
            own[f"tls_{role}_cert"] = str(self.folder / _CERTIFICATE)
            own[f"tls_{role}_key"] = str(self.folder / _KEY)
        return Security(require_encryption=True, **own)

    def make(self, days: int) -> None:
        """Make new ones, valid for ``days``.  The authority's key is thrown away: nobody can make more of the same.

        Raises:
            UsageError: some are there already, or the folder cannot be written to.
            EnvironmentProblem: the library that makes them is not installed.
        """
        try:
            from cryptography import x509
            from cryptography.hazmat.primitives import hashes, serialization
            from cryptography.hazmat.primitives.asymmetric import ec
            from cryptography.x509.oid import NameOID
        except ImportError:
            raise EnvironmentProblem(
                "Certificates are made with the library cryptography, which is not installed here. "
                "Install what it needs: pip install 'mini-flash-attention-kit[dask]'."
            ) from None
        if (self.folder / _KEY).exists():
            raise UsageError(f"There are certificates in {self.folder}. Remove the folder to have new ones made.")

        def named(name: str) -> x509.Name:
            return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])

        start = datetime.now(UTC) - timedelta(minutes=5)  # clocks of machines differ a little
        authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))

        def signed(name: str, public: ec.EllipticCurvePublicKey, authority: bool) -> x509.Certificate:
            draft = x509.CertificateBuilder(named("course cluster authority"), named(name), public)
            draft = draft.serial_number(x509.random_serial_number())
            draft = draft.not_valid_before(start).not_valid_after(start + timedelta(days=days))
            draft = draft.add_extension(x509.BasicConstraints(ca=authority, path_length=0 if authority else None), True)
            issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
            draft = draft.add_extension(x509.SubjectKeyIdentifier.from_public_key(public), False)
            usage = x509.KeyUsage(
                digital_signature=not authority,
                key_cert_sign=authority,
                crl_sign=authority,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                encipher_only=False,
                decipher_only=False,
            )
            draft = draft.add_extension(issuer, False).add_extension(usage, True)
            return draft.sign(authority_key, hashes.SHA256())

        pem = serialization.Encoding.PEM
        files = {
            _AUTHORITY: signed("course cluster authority", authority_key.public_key(), True).public_bytes(pem),
            _CERTIFICATE: signed("course cluster member", key.public_key(), False).public_bytes(pem),
            _CONFIG: self._settings().encode(),
            _KEY: key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
        }
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            for name, data in files.items():
                handle = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                with os.fdopen(handle, "wb") as stream:
                    stream.write(data)
        except OSError as error:
            raise UsageError(f"{self.folder} cannot be written to ({error.strerror}).") from error

    def _settings(self) -> str:
        """Dask's settings as YAML, in JSON's spelling of strings."""
        import json

        folder = self.folder.resolve()
        lines = ["distributed:", "  comm:", "    default-scheme: tls", "    require-encryption: true", "    tls:"]
        lines.append(f"      ca-file: {json.dumps(str(folder / _AUTHORITY))}")
        for role in _ROLES:
            lines += [f"      {role}:", f"        cert: {json.dumps(str(folder / _CERTIFICATE))}"]
            lines += [f"        key: {json.dumps(str(folder / _KEY))}"]
        return "\n".join(lines) + "\n"
