/** A browser with its cookies and the user in front of it; its tabs are clients. */
export interface Browser {
  readonly userName: string;
  /** Cookies by name; the tabs read and write them. */
  readonly cookies: Map<string, string>;
  /** Fields of every request, e.g. `Authorization`. */
  readonly fields: Readonly<Record<string, string>>;
  readonly ext: object | undefined;
}

/** Keeps the cookies of a response; their attributes do not matter here. */
export function keepCookies({ cookies }: Browser, setCookies: readonly string[]): void {
  for (const setCookie of setCookies) {
    const [, name = '', value = ''] = /^([^=;]*)=([^;]*)/.exec(setCookie) ?? [];
    cookies.set(name, value);
  }
}

export function fieldsOf({ fields, cookies }: Browser): Record<string, string> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  return { ...fields, ...(cookie === '' ? {} : { Cookie: cookie }) };
}
