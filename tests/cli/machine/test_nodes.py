"""What each machine of a cluster can do. tests/cluster/test_on_ray.py asks a real one."""

from fairmark import __version__
from fairmark.cli.machine.nodes import examine_here, version_finding


def test_another_version_is_a_failure_that_names_both() -> None:
    assert version_finding(__version__).ok
    other = version_finding("0.0.9")
    assert (other.ok, other.needed) == (False, True)
    assert other.found == f"0.0.9, and {__version__} here"


def test_a_machine_tells_its_version_and_what_doctor_finds_there() -> None:
    version, findings = examine_here()
    assert version == __version__
    assert "python graders" in {finding[0] for finding in findings}
    assert {type(finding) for finding in findings} == {tuple}
