@echo off
rem Installs d2-sidecar as a service of Windows, or upgrades it. Run this as an administrator.
rem An upgrade keeps the configuration, the state and what was changed in the service.
setlocal DisableDelayedExpansion
set "FROM=%~dp0"
set "PROGRAM=%ProgramFiles%\d2-sidecar"
set "DATA=%ProgramData%\d2-sidecar"

if not exist "%PROGRAM%\d2-sidecar-service.exe" goto copy
rem A running program cannot be replaced. Its calls end first.
"%PROGRAM%\d2-sidecar-service.exe" stop
if errorlevel 1 goto failed
:copy
if not exist "%PROGRAM%\" mkdir "%PROGRAM%"
for %%F in (d2-sidecar.exe d2-sidecar-service.exe schema.json LICENSE.txt README.txt uninstall.cmd) do (
  copy /y "%FROM%%%F" "%PROGRAM%\%%F" >nul
  if errorlevel 1 goto failed
)

if exist "%DATA%\" goto configure
mkdir "%DATA%"
rem SYSTEM and administrators may do everything there, the account of the service (LocalService) may write.
icacls "%DATA%" /inheritance:r /grant *S-1-5-18:(OI)(CI)F *S-1-5-32-544:(OI)(CI)F *S-1-5-19:(OI)(CI)M >nul
if errorlevel 1 goto failed
:configure
if not exist "%DATA%\sidecar.yaml" copy "%FROM%sidecar.yaml" "%DATA%\sidecar.yaml" >nul
if not exist "%DATA%\sidecar.yaml" goto failed
"%PROGRAM%\d2-sidecar.exe" service install --config "%DATA%\sidecar.yaml"
if errorlevel 1 goto failed

echo d2-sidecar is installed and started.
echo   Configuration, state, log: %DATA%
echo   Live page:                 http://127.0.0.1:9280/
echo The firewall is as before. This lets clients reach the sidecar:
echo   netsh advfirewall firewall add rule name=d2-sidecar dir=in action=allow protocol=TCP localport=8081
exit /b 0

:failed
echo d2-sidecar is NOT installed: see the message above. Run this as an administrator.
rem After a failed upgrade the old one goes on.
net start d2-sidecar >nul 2>&1
exit /b 1
