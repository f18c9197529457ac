"""Open files in LibreOffice and save them, Word files with all changes accepted or rejected.

The work on changes is a macro in Basic in a profile of its own, so that nothing but `soffice` is needed. One start
opens many files.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import escape

SOFFICE = shutil.which("soffice")
_FILTERS = {".txt": "Text (encoded)", ".docx": "MS Word 2007 XML"}
_MODULE = """Sub Main
  Dim sList As String, sRow As String, iFile As Integer
  sList = "{list}"
  iFile = FreeFile
  Open sList For Input As #iFile
  Do While Not EOF(iFile)
    Line Input #iFile, sRow
    If Len(sRow) > 0 Then Settle(Split(sRow, "|"))
  Loop
  Close #iFile
  StarDesktop.terminate()
End Sub

Sub Settle(aFields)
  Dim aHidden(0) As New com.sun.star.beans.PropertyValue
  Dim aText(1) As New com.sun.star.beans.PropertyValue
  Dim oDocument As Object, oDispatcher As Object
  aHidden(0).Name = "Hidden"
  aHidden(0).Value = True
  aText(0).Name = "FilterName"
  aText(0).Value = aFields(3)
  aText(1).Name = "FilterOptions"
  aText(1).Value = "UTF8,LF,,,"
  On Error Goto Failed
  oDocument = StarDesktop.loadComponentFromURL(aFields(0), "_blank", 0, aHidden())
  oDispatcher = createUnoService("com.sun.star.frame.DispatchHelper")
  oDispatcher.executeDispatch(oDocument.CurrentController.Frame, aFields(1), "", 0, Array())
  oDocument.storeToURL(aFields(2), aText())
  oDocument.close(True)
Failed:
End Sub
"""
_LIBRARY = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE library:{kind} PUBLIC "-//OpenOffice.org//DTD OfficeDocument 1.0//EN" "{kind}.dtd">
"""
_SCRIPTS = (
    '<library:libraries xmlns:library="http://openoffice.org/2000/library" '
    'xmlns:xlink="http://www.w3.org/1999/xlink"><library:library library:name="Standard" '
    'xlink:href="$(USER)/basic/Standard/script.xlb/" xlink:type="simple" library:link="false"/></library:libraries>'
)
_STANDARD = (
    '<library:library xmlns:library="http://openoffice.org/2000/library" library:name="Standard" '
    'library:readonly="false" library:passwordprotected="false"><library:element library:name="Changes"/>'
    "</library:library>"
)
_SCRIPT = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE script:module PUBLIC '
    '"-//OpenOffice.org//DTD OfficeDocument 1.0//EN" "module.dtd">\n'
    '<script:module xmlns:script="http://openoffice.org/2000/script" script:name="Changes" '
    'script:language="StarBasic">{code}</script:module>'
)


def settled(
    files: Iterable[Path], folder: Path, suffix: str = ".txt", seconds: float = 600
) -> dict[Path, tuple[Path, Path]]:
    """Save each file with all changes accepted, and with all rejected.

    Args:
        files: Word files.
        folder: for the profile and the results.
        suffix: of the results, ".txt" or ".docx".
        seconds: that LibreOffice may take.

    Returns:
        The two results of each file; one that LibreOffice could not write does not exist.
    """
    results = {
        file: (folder / f"{number}.accepted{suffix}", folder / f"{number}.rejected{suffix}")
        for number, file in enumerate(files)
    }
    commands = [
        "|".join((file.as_uri(), f".uno:{word}AllTrackedChanges", result.as_uri(), _FILTERS[suffix]))
        for file, both in results.items()
        for word, result in zip(("Accept", "Reject"), both, strict=True)
    ]
    listed = folder / "files.txt"
    listed.write_text("".join(f"{command}\n" for command in commands))
    profile = folder / "profile"
    _start(profile, "--terminate_after_init", seconds)  # the first start would overwrite the macro
    _install(profile, listed)
    _start(profile, "macro:///Standard.Changes.Main", seconds)
    return results


def saved(file: Path, folder: Path, suffix: str = ".odt", seconds: float = 120) -> Path:
    """Open a file and save it in a format, as a person does; the result is missing where LibreOffice failed."""
    command = [SOFFICE or "soffice", "--headless", f"-env:UserInstallation={(folder / 'profile').as_uri()}"]
    command += ["--convert-to", suffix.removeprefix("."), "--outdir", str(folder / "saved"), str(file)]
    subprocess.run(command, timeout=seconds, check=False, capture_output=True)
    return folder / "saved" / f"{file.stem}{suffix}"


def _start(profile: Path, task: str, seconds: float) -> None:
    command = [SOFFICE or "soffice", "--headless", "--norestore", f"-env:UserInstallation={profile.as_uri()}"]
    subprocess.run([*command, task], timeout=seconds, check=False, capture_output=True)


def _install(profile: Path, listed: Path) -> None:
    standard = profile / "user" / "basic" / "Standard"
    standard.mkdir(parents=True, exist_ok=True)
    (standard.parent / "script.xlc").write_text(_LIBRARY.format(kind="libraries") + _SCRIPTS)
    (standard / "script.xlb").write_text(_LIBRARY.format(kind="library") + _STANDARD)
    code = escape(_MODULE.format(list=listed), {'"': "&quot;"})
    (standard / "Changes.xba").write_text(_SCRIPT.format(code=code))
