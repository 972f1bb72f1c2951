/** Browsers with their cookies, and how their users log in and out. */
import { LOGIN_PATH, LOGOUT_PATH, RIGHT_PASSWORD } from './login-desk.ts';

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

/** Logs in as the plan says; every third form login has a wrong password first. */
export async function logIn(origin: string, { browser, login }: BrowserPlan, number: number): Promise<void> {
  if (login === 'ext' || login === 'basic') return;
  if (login === 'form-on-page') await visit(origin, browser, '/smartWeb/');
  if (number % 3 === 0) await post(origin, browser, 'wrong', 403);
  await post(origin, browser, RIGHT_PASSWORD, 303);
}

export async function logOut(origin: string, browser: Browser): Promise<void> {
  await visit(origin, browser, LOGOUT_PATH);
}

async function visit(origin: string, browser: Browser, path: string): Promise<void> {
  const response = await fetch(`${origin}${path}`, { headers: fieldsOf(browser) });
  await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`${path}: ${response.status}`);
  keepCookies(browser, response.headers.getSetCookie());
}

async function post(origin: string, browser: Browser, password: string, expected: number): Promise<void> {
  const form = new URLSearchParams({ lang: 'sk', j_username: browser.userName, j_password: password });
  const response = await fetch(`${origin}${LOGIN_PATH}`, {
    method: 'POST',
    headers: fieldsOf(browser),
    body: form,
    redirect: 'manual',
  });
  await response.arrayBuffer();
  if (response.status !== expected) throw new Error(`login: ${response.status} instead of ${expected}`);
  keepCookies(browser, response.headers.getSetCookie());
}
