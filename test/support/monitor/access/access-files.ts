import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach } from 'vitest';
import {
  createPasswordHash,
  createToken,
  formatPasswordHash,
  formatTokenHash,
  hashToken,
  type ScryptCost,
} from '../../../../src/monitor/access/password-hash.ts';
import type { Defer } from '../../deferred.ts';

/** The smallest accepted value, so that tests are quick: about 70 ms. */
export const CHEAP: ScryptCost = { N: 16_384, r: 8, p: 1 };

export async function userLine(name: string, role: string, password: string, cost = CHEAP): Promise<string> {
  return `${name}:${role}:${formatPasswordHash(await createPasswordHash(password, cost))}`;
}

export function tokenLine(name: string, role: string): { line: string; token: string } {
  const token = createToken();
  return { line: `${name}:${role}:${formatTokenHash(hashToken(token))}`, token };
}

/** A folder into which a test writes private files. `defer`: removes it at the end. */
export class Folder {
  readonly path = mkdtempSync(path.join(tmpdir(), 'd2s-access-'));

  constructor(defer?: Defer) {
    defer?.(() => this.remove());
  }

  write(name: string, text: string, mode = 0o600): string {
    const file = path.join(this.path, name);
    rmSync(file, { force: true });
    writeFileSync(file, text, { mode });
    return file;
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }

  /** Is empty again for each test of a file, and gone after the last. */
  forTests(): this {
    afterEach(() => {
      this.remove();
      mkdirSync(this.path, { mode: 0o700 });
    });
    afterAll(() => this.remove());
    return this;
  }
}

export function basic(name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`, 'utf8').toString('base64')}`;
}
