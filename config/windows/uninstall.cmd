@echo off
rem Removes the service and the program. Run this as an administrator. Configuration, state and log stay.
setlocal DisableDelayedExpansion
set "PROGRAM=%ProgramFiles%\d2-sidecar"
"%PROGRAM%\d2-sidecar.exe" service uninstall
if errorlevel 1 exit /b 1
echo d2-sidecar is removed. Configuration, state and log are still in %ProgramData%\d2-sidecar
echo This removes its rule of the firewall:
echo   netsh advfirewall firewall delete rule name=d2-sidecar
rem cmd.exe reads this file line by line, so this line removes it and ends.
cd /d "%SystemRoot%" & rmdir /s /q "%PROGRAM%" & exit /b 0
