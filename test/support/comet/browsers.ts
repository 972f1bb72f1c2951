/** Browsers with their cookies, and how their users log in and out. */
import { LOGIN_PATH, RIGHT_PASSWORD } from './login-desk.ts';

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

/** How a user logs in: by form login, at once or after a page has set a cookie, or without a cookie. */
type LoginManner = 'form' | 'form-on-page' | 'ext' | 'basic';

export type BrowserPlan = ReturnType<typeof toPlan>;

export function toPlan(userName: string, login: LoginManner, tabs: 1 | 2) {
  const basic = `Basic ${Buffer.from(`${userName}:${RIGHT_PASSWORD}`).toString('base64')}`;
  const browser: Browser = {
    userName,
    cookies: new Map(),
    fields: login === 'basic' ? { Authorization: basic } : {},
    ext: login === 'ext' ? { authentication: { user: userName, credentials: RIGHT_PASSWORD } } : undefined,
  };
  return { browser, login, tabs };
}

/** Logs in as the plan says; on a page with a wrong password first. */
export async function logIn(origin: string, { browser, login }: BrowserPlan): Promise<void> {
  if (login === 'ext' || login === 'basic') return;
  if (login === 'form-on-page') {
    await visit(origin, browser, '/smartWeb/');
    await post(origin, browser, 'wrong', 403);
  }
  await post(origin, browser, RIGHT_PASSWORD, 303);
}

async function post(origin: string, browser: Browser, password: string, expected: number): Promise<void> {
  const body = new URLSearchParams({ lang: 'sk', j_username: browser.userName, j_password: password });
  await visit(origin, browser, LOGIN_PATH, expected, { method: 'POST', body, redirect: 'manual' });
}

export async function visit(origin: string, browser: Browser, path: string, expected = 200, more: RequestInit = {}) {
  const response = await fetch(`${origin}${path}`, { ...more, headers: fieldsOf(browser) });
  await response.arrayBuffer();
  if (response.status !== expected) throw new Error(`${path}: ${response.status} instead of ${expected}`);
  keepCookies(browser, response.headers.getSetCookie());
}
