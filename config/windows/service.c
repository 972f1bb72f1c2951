/*
 * d2-sidecar-service.exe: the service of Windows, since Node.js does not speak the protocol of services.
 *
 *   d2-sidecar-service.exe install LOG PROGRAM ARGUMENTS    registers the service and starts it, or upgrades it
 *   d2-sidecar-service.exe stop | uninstall | status
 *   d2-sidecar-service.exe run LOG PROGRAM ARGUMENTS        what Windows starts
 *
 * The service runs PROGRAM, and appends its output to the file LOG. It has started when the sidecar opens its control pipe. A stop asks the
 * sidecar over that pipe, so that running calls end first, and ends it after STOP_MS. When PROGRAM ends by itself, the service ends with
 * the same exit code, and Windows restarts it. src/cli/service.ts runs the other commands.
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>

/* Also `windows` in src/base/platform/windows.ts: commands find the service there. */
#define CONTROL_PIPE L"\\\\.\\pipe\\d2-sidecar"
#define NAME L"d2-sidecar"
#define PATH_CHARACTERS 1024
/* That of the longest command line. */
#define LINE_CHARACTERS 32768

enum {
  LOG_BYTES = 10 * 1024 * 1024,
  KEPT_LOGS = 4,
  LOG_CHECK_MS = 60 * 1000,
  /* The longest default stop takes 30 s (stop.deadline). */
  STOP_MS = 90 * 1000,
  STOP_POLL_MS = 2 * 1000,
  START_MS = 60 * 1000,
  START_POLL_MS = 200,
  HINT_MS = 10 * 1000,
};

static const wchar_t *log_path;
static SERVICE_STATUS_HANDLE status_handle;
static SERVICE_STATUS status = {.dwServiceType = SERVICE_WIN32_OWN_PROCESS};
static HANDLE stop_requested;

static void report(DWORD state, DWORD exit_code) {
  BOOL is_pending = state == SERVICE_START_PENDING || state == SERVICE_STOP_PENDING;
  status.dwCurrentState = state;
  status.dwControlsAccepted = state == SERVICE_RUNNING ? SERVICE_ACCEPT_STOP | SERVICE_ACCEPT_PRESHUTDOWN : 0;
  status.dwWin32ExitCode = exit_code == 0 ? NO_ERROR : ERROR_SERVICE_SPECIFIC_ERROR;
  status.dwServiceSpecificExitCode = exit_code;
  status.dwCheckPoint = is_pending ? status.dwCheckPoint + 1 : 0;
  status.dwWaitHint = is_pending ? HINT_MS : 0;
  SetServiceStatus(status_handle, &status);
}

static DWORD WINAPI on_control(DWORD control, DWORD type, LPVOID data, LPVOID context) {
  (void)type, (void)data, (void)context;
  if (control == SERVICE_CONTROL_STOP || control == SERVICE_CONTROL_PRESHUTDOWN) {
    /* Before the answer: who has stopped the service must not see it running. */
    report(SERVICE_STOP_PENDING, 0);
    SetEvent(stop_requested);
    return NO_ERROR;
  }
  return control == SERVICE_CONTROL_INTERROGATE ? NO_ERROR : ERROR_CALL_NOT_IMPLEMENTED;
}

/* Appends only, so that PROGRAM, which inherits it, goes on at the new end of a file that was emptied. */
static HANDLE open_log(void) {
  SECURITY_ATTRIBUTES inherited = {sizeof inherited, NULL, TRUE};
  return CreateFileW(log_path, FILE_APPEND_DATA | FILE_READ_ATTRIBUTES | SYNCHRONIZE,
                     FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, &inherited, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
}

static void name_log(wchar_t *name, int number) {
  _snwprintf(name, PATH_CHARACTERS, number == 0 ? L"%ls" : L"%ls.%d", log_path, number);
  name[PATH_CHARACTERS - 1] = 0;
}

/* Copies the log to LOG.1 and empties it once it has LOG_BYTES: PROGRAM holds it open, so that it cannot be renamed. */
static void rotate(HANDLE log) {
  LARGE_INTEGER size;
  wchar_t from[PATH_CHARACTERS], to[PATH_CHARACTERS];
  if (!GetFileSizeEx(log, &size) || size.QuadPart < LOG_BYTES) return;
  for (int number = KEPT_LOGS - 1; number > 0; number--) {
    name_log(from, number);
    name_log(to, number + 1);
    MoveFileExW(from, to, MOVEFILE_REPLACE_EXISTING);
  }
  name_log(to, 1);
  CopyFileW(log_path, to, FALSE);
  HANDLE emptied = CreateFileW(log_path, GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                               TRUNCATE_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
  if (emptied != INVALID_HANDLE_VALUE) CloseHandle(emptied);
}

/* The command line of this process without its first words, which may be in quotes. */
static wchar_t *skip_words(int count) {
  wchar_t *line = GetCommandLineW();
  for (; count > 0; count--) {
    BOOL is_quoted = FALSE;
    for (; *line != 0 && (is_quoted || *line != L' '); line++)
      if (*line == L'"') is_quoted = !is_quoted;
    while (*line == L' ') line++;
  }
  return line;
}

/* Starts PROGRAM in a job that ends with this process, however that ends. NULL if that fails: GetLastError. */
static HANDLE start(HANDLE log) {
  SECURITY_ATTRIBUTES inherited = {sizeof inherited, NULL, TRUE};
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {.BasicLimitInformation = {.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE}};
  HANDLE job = CreateJobObjectW(NULL, NULL);
  HANDLE input = CreateFileW(L"NUL", GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, &inherited, OPEN_EXISTING, 0, NULL);
  STARTUPINFOW startup = {.cb = sizeof startup, .dwFlags = STARTF_USESTDHANDLES, .hStdInput = input, .hStdOutput = log, .hStdError = log};
  PROCESS_INFORMATION child;
  SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits);
  SetEnvironmentVariableW(L"D2_SIDECAR_CONTROL_SOCKET", CONTROL_PIPE);
  if (!CreateProcessW(NULL, skip_words(3), NULL, NULL, TRUE, CREATE_NO_WINDOW | CREATE_SUSPENDED, NULL, NULL, &startup, &child))
    return NULL;
  AssignProcessToJobObject(job, child.hProcess);
  ResumeThread(child.hThread);
  CloseHandle(child.hThread);
  return child.hProcess;
}

/* The sidecar answers until it has ended, so the pipe stays open. It may not impersonate this process: another could hold its name. */
static HANDLE ask_to_stop(void) {
  static const char request[] = "POST /shutdown HTTP/1.1\r\nHost: d2-sidecar\r\n\r\n";
  DWORD written;
  HANDLE pipe = CreateFileW(CONTROL_PIPE, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING,
                            SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION, NULL);
  if (pipe != INVALID_HANDLE_VALUE) WriteFile(pipe, request, sizeof request - 1, &written, NULL);
  return pipe;
}

static void stop(HANDLE process) {
  HANDLE pipe = INVALID_HANDLE_VALUE;
  for (int waited = 0; waited < STOP_MS; waited += STOP_POLL_MS) {
    report(SERVICE_STOP_PENDING, 0);
    /* It opens its pipe late in its start. */
    if (pipe == INVALID_HANDLE_VALUE) pipe = ask_to_stop();
    if (WaitForSingleObject(process, STOP_POLL_MS) == WAIT_OBJECT_0) return;
  }
  TerminateProcess(process, 1);
  WaitForSingleObject(process, STOP_POLL_MS);
}

/* Until the sidecar has opened its pipe, or has ended, or has to stop; START_MS at most. */
static void wait_until_started(HANDLE process) {
  HANDLE events[] = {process, stop_requested};
  for (int waited = 0; waited < START_MS; waited += START_POLL_MS) {
    report(SERVICE_START_PENDING, 0);
    if (WaitNamedPipeW(CONTROL_PIPE, 1) || GetLastError() != ERROR_FILE_NOT_FOUND) return;
    if (WaitForMultipleObjects(2, events, FALSE, START_POLL_MS) != WAIT_TIMEOUT) return;
  }
}

static void WINAPI run(DWORD count, LPWSTR *words) {
  (void)count, (void)words;
  status_handle = RegisterServiceCtrlHandlerExW(NAME, on_control, NULL);
  report(SERVICE_START_PENDING, 0);
  stop_requested = CreateEventW(NULL, TRUE, FALSE, NULL);
  HANDLE log = open_log();
  rotate(log);
  HANDLE process = log == INVALID_HANDLE_VALUE ? NULL : start(log);
  if (process == NULL) {
    report(SERVICE_STOPPED, GetLastError());
    return;
  }
  wait_until_started(process);
  HANDLE events[] = {process, stop_requested};
  DWORD event = WaitForMultipleObjects(2, events, FALSE, 0), exit_code = 1;
  if (event == WAIT_TIMEOUT) report(SERVICE_RUNNING, 0);
  for (; event == WAIT_TIMEOUT; event = WaitForMultipleObjects(2, events, FALSE, LOG_CHECK_MS)) rotate(log);
  if (event == WAIT_OBJECT_0 + 1) stop(process);
  GetExitCodeProcess(process, &exit_code);
  report(SERVICE_STOPPED, exit_code);
}

static int fail(const char *what) {
  DWORD error = GetLastError();
  fprintf(stderr, "d2-sidecar: the service cannot be %s: %s%lu\n", what,
          error == ERROR_ACCESS_DENIED ? "run this as an administrator: error " : "error ", error);
  return 1;
}

/* The state once it is not pending. */
static DWORD settle(SC_HANDLE service, SERVICE_STATUS *found) {
  while (QueryServiceStatus(service, found) && (found->dwCurrentState == SERVICE_START_PENDING || found->dwCurrentState == SERVICE_STOP_PENDING))
    Sleep(START_POLL_MS);
  return found->dwCurrentState;
}

/* A starting service takes no other command. Its process ends after the service, and holds its file until then. */
static BOOL stop_service(SC_HANDLE service) {
  SERVICE_STATUS found = {0};
  SERVICE_STATUS_PROCESS details = {0};
  DWORD bytes;
  if (settle(service, &found) == SERVICE_STOPPED) return TRUE;
  QueryServiceStatusEx(service, SC_STATUS_PROCESS_INFO, (BYTE *)&details, sizeof details, &bytes);
  HANDLE process = OpenProcess(SYNCHRONIZE, FALSE, details.dwProcessId);
  ControlService(service, SERVICE_CONTROL_STOP, &found);
  if (settle(service, &found) != SERVICE_STOPPED) return FALSE;
  if (process != NULL) WaitForSingleObject(process, HINT_MS);
  return TRUE;
}

/*
 * An account with few rights, and that of Tomcat's own installer. The start is delayed: after Tomcat's, whose end does not end the sidecar.
 * Restarts come after 10 s, 10 s, and then a minute, also after an exit with an error.
 */
static SC_HANDLE create(SC_HANDLE manager, const wchar_t *line) {
  SC_HANDLE service = CreateServiceW(manager, NAME, NAME, SERVICE_ALL_ACCESS, SERVICE_WIN32_OWN_PROCESS, SERVICE_AUTO_START,
                                     SERVICE_ERROR_NORMAL, line, NULL, NULL, NULL, L"NT AUTHORITY\\LocalService", NULL);
  if (service == NULL) return NULL;
  SC_ACTION restarts[] = {{SC_ACTION_RESTART, 10 * 1000}, {SC_ACTION_RESTART, 10 * 1000}, {SC_ACTION_RESTART, 60 * 1000}};
  SERVICE_DESCRIPTIONW description = {L"Measures the calls of a D2000 application server, as a reverse proxy before it."};
  SERVICE_FAILURE_ACTIONSW recovery = {.dwResetPeriod = 24 * 60 * 60, .cActions = 3, .lpsaActions = restarts};
  SERVICE_FAILURE_ACTIONS_FLAG after_errors = {TRUE};
  SERVICE_DELAYED_AUTO_START_INFO delayed = {TRUE};
  SERVICE_PRESHUTDOWN_INFO shutdown = {STOP_MS};
  ChangeServiceConfig2W(service, SERVICE_CONFIG_DESCRIPTION, &description);
  ChangeServiceConfig2W(service, SERVICE_CONFIG_FAILURE_ACTIONS, &recovery);
  ChangeServiceConfig2W(service, SERVICE_CONFIG_FAILURE_ACTIONS_FLAG, &after_errors);
  ChangeServiceConfig2W(service, SERVICE_CONFIG_DELAYED_AUTO_START_INFO, &delayed);
  ChangeServiceConfig2W(service, SERVICE_CONFIG_PRESHUTDOWN_INFO, &shutdown);
  return service;
}

/* An upgrade keeps what an administrator has changed, e.g. the account. */
static int install(void) {
  static wchar_t line[LINE_CHARACTERS];
  wchar_t own[PATH_CHARACTERS];
  GetModuleFileNameW(NULL, own, PATH_CHARACTERS);
  _snwprintf(line, LINE_CHARACTERS - 1, L"\"%ls\" run %ls", own, skip_words(2));
  SC_HANDLE manager = OpenSCManagerW(NULL, NULL, SC_MANAGER_ALL_ACCESS);
  if (manager == NULL) return fail("installed");
  SC_HANDLE service = OpenServiceW(manager, NAME, SERVICE_ALL_ACCESS);
  SERVICE_STATUS found = {0};
  if (service != NULL) {
    if (!stop_service(service)) return fail("stopped");
    if (!ChangeServiceConfigW(service, SERVICE_NO_CHANGE, SERVICE_NO_CHANGE, SERVICE_NO_CHANGE, line, NULL, NULL, NULL, NULL, NULL, NULL))
      return fail("changed");
  } else if ((service = create(manager, line)) == NULL) return fail("created");
  if (!StartServiceW(service, 0, NULL)) return fail("started");
  if (settle(service, &found) == SERVICE_RUNNING) return 0;
  fprintf(stderr, "d2-sidecar: the service has ended with exit code %lu: the end of its log says why\n", found.dwServiceSpecificExitCode);
  return 1;
}

/* Stops the service, and removes it. Nothing to do is no failure. */
static int stop_or_remove(BOOL removes) {
  SC_HANDLE manager = OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT);
  SC_HANDLE service = OpenServiceW(manager, NAME, SERVICE_ALL_ACCESS);
  if (service == NULL && GetLastError() == ERROR_SERVICE_DOES_NOT_EXIST) return 0;
  if (service == NULL) return fail(removes ? "removed" : "stopped");
  if (!stop_service(service)) return fail("stopped");
  return !removes || DeleteService(service) ? 0 : fail("removed");
}

/* Exit code 0 if it runs. */
static int show_status(void) {
  static const char *const states[] = {"", "stopped", "starting", "stopping", "running"};
  SERVICE_STATUS found = {0};
  SC_HANDLE service = OpenServiceW(OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT), NAME, SERVICE_QUERY_STATUS);
  if (service == NULL && GetLastError() != ERROR_SERVICE_DOES_NOT_EXIST) return fail("asked");
  if (service != NULL) QueryServiceStatus(service, &found);
  DWORD state = found.dwCurrentState;
  printf("d2-sidecar: %s\n", state == 0 ? "not installed" : state <= SERVICE_RUNNING ? states[state] : "paused");
  if (state == SERVICE_STOPPED && found.dwServiceSpecificExitCode != 0) printf("exit code %lu\n", found.dwServiceSpecificExitCode);
  return state == SERVICE_RUNNING ? 0 : 1;
}

int wmain(int count, wchar_t **words) {
  SERVICE_TABLE_ENTRYW table[] = {{NAME, run}, {NULL, NULL}};
  const wchar_t *command = count > 1 ? words[1] : L"";
  if (count > 2) log_path = words[2];
  if (wcscmp(command, L"stop") == 0) return stop_or_remove(FALSE);
  if (wcscmp(command, L"uninstall") == 0) return stop_or_remove(TRUE);
  if (wcscmp(command, L"status") == 0) return show_status();
  if (count > 3 && wcscmp(command, L"install") == 0) return install();
  if (count > 3 && wcscmp(command, L"run") == 0) return StartServiceCtrlDispatcherW(table) ? 0 : fail("run by anybody but Windows");
  fputs("usage: d2-sidecar-service install|run LOG PROGRAM [ARGUMENTS], or stop, uninstall or status\n", stderr);
  return 64;
}
