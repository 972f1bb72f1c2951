/** The configuration keys that the messages of these sources name, in one place so that both stay equal. */
export const KEYS = {
  url: 'jvm.http.url',
  username: 'jvm.http.username',
  passwordFile: 'jvm.http.passwordFile',
  passwordEnv: 'jvm.http.passwordEnv',
  caFile: 'jvm.http.caFile',
  serverName: 'jvm.http.serverName',
  timeout: 'jvm.timeout',
} as const;
