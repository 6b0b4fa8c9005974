"""The files of TLS: looked at when they change, kept when what they hold can't be used."""

import logging
from datetime import datetime

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from stdworker.engine.tls import ServerTls, identity_of
from stdworker.errors import SettingsError


@pytest.fixture
def files(tmp_path):
    """A certificate that goes with its key, and an authority."""
    tls = ServerTls(tmp_path / "cert.pem", tmp_path / "key.pem", tmp_path / "ca.pem")
    write(tls)
    return tls


def write(tls):
    authority = trustme.CA()
    issued = authority.issue_cert("localhost")
    issued.private_key_pem.write_to_path(tls.key_file)
    issued.cert_chain_pems[0].write_to_path(tls.cert_file)
    authority.cert_pem.write_to_path(tls.client_ca_file)


def encrypted(pem):
    key = serialization.load_pem_private_key(pem, None)
    cipher = serialization.BestAvailableEncryption(b"sesame")
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, cipher)


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ("cert_file", "TLS_CERT_FILE is .*expected a certificate in PEM that goes with TLS_KEY_FILE"),
        ("key_file", "TLS_CERT_FILE is .*expected a certificate in PEM that goes with TLS_KEY_FILE"),
        ("client_ca_file", "TLS_CLIENT_CA_FILE is .*expected certificates of authorities in PEM"),
    ],
)
def test_files_that_were_never_good_are_refused_with_the_reason(files, broken, told):
    getattr(files, broken).write_text("nothing of use")
    with pytest.raises(SettingsError, match=told):
        files.context()


@pytest.mark.parametrize("gone", ["cert_file", "key_file", "client_ca_file"])
def test_a_file_that_is_gone_is_named(files, gone):
    getattr(files, gone).unlink()
    with pytest.raises(SettingsError) as refused:
        files.context()
    assert refused.value.variable == f"TLS_{gone.upper()}"


@pytest.mark.parametrize(("first", "last"), [(2001, 2002), (2098, 2099)])
def test_a_certificate_that_is_not_valid_now_is_served_and_warned_of(files, caplog, first, last):
    issued = trustme.CA().issue_cert("localhost", not_before=datetime(first, 3, 4), not_after=datetime(last, 5, 6))
    issued.private_key_pem.write_to_path(files.key_file)
    issued.cert_chain_pems[0].write_to_path(files.cert_file)
    files.context()
    [record] = caplog.records
    assert f"{files.cert_file} is valid from {first}-03-04 to {last}-05-06, which is not now" in record.message


def test_a_certificate_that_is_valid_is_not_spoken_of(files, caplog):
    files.context()
    assert not caplog.records


def test_a_key_of_another_certificate_is_refused(files):
    trustme.CA().issue_cert("localhost").private_key_pem.write_to_path(files.key_file)
    with pytest.raises(SettingsError):
        files.context()


def test_a_key_with_a_password_is_refused_and_nobody_is_asked_for_it(files):
    files.key_file.write_bytes(encrypted(files.key_file.read_bytes()))
    with pytest.raises(SettingsError):
        files.context()


def test_files_that_stay_the_same_are_not_read_again(files):
    first = files.context()
    assert files.context() is first


def test_files_that_change_are_read_again(files):
    before = files.context(), files.pems()
    write(files)
    after = files.context(), files.pems()
    assert after[0] is not before[0]
    assert after[1].cert == files.cert_file.read_bytes() != before[1].cert


def test_what_can_not_be_used_leaves_the_last_good_ones_and_is_told_once(files, caplog):
    good = files.context()
    files.cert_file.write_text("half")
    with caplog.at_level(logging.WARNING):
        assert [files.context() for _ in range(3)] == [good] * 3
    files.cert_file.unlink()
    assert files.context() is good
    assert len(caplog.records) == 1
    write(files)
    assert files.context() is not good


@pytest.mark.parametrize(
    ("uris", "actor", "spiffe_id"),
    [
        (["spiffe://a/b"], "spiffe://a/b", "spiffe://a/b"),
        (["https://a/b"], "CN=ada?", ""),
        (["spiffe://a/b", "spiffe://a/c"], "CN=ada?", ""),
        ([], "CN=ada?", ""),
    ],
)
def test_a_certificate_is_its_one_spiffe_id_or_its_subject(uris, actor, spiffe_id):
    names = (("DNS", "x"), *(("URI", uri) for uri in uris))
    shown = {"subjectAltName": names, "subject": ((("organizationName", "o"),), (("commonName", "ada\n"),))}
    assert identity_of(shown) == (actor, spiffe_id)
