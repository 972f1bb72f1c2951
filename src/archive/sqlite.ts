/** What this folder uses of `node:sqlite`, which Node.js 20 and its types lack. */

export type SqlValue = number | string | Uint8Array | null;
export type SqlRow = Readonly<Record<string, SqlValue>>;

export interface Statement {
  get(...values: SqlValue[]): SqlRow | undefined;
  all(...values: SqlValue[]): SqlRow[];
  iterate(...values: SqlValue[]): IterableIterator<SqlRow>;
  run(...values: SqlValue[]): { readonly changes: number | bigint };
}

export interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

/** Throws if the file cannot be opened. */
export function openDatabase(file: string): Database {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite' as 'node:fs') as unknown as {
    readonly DatabaseSync: new (file: string) => Database;
  };
  return new DatabaseSync(file);
}

/** SQLITE_CORRUPT and SQLITE_NOTADB (https://sqlite.org/rescode.html). */
const DAMAGE = [11, 26];

export function isDamage(error: unknown): boolean {
  const { errcode = 0 } = error as { readonly errcode?: number };
  return DAMAGE.includes(errcode & 0xff);
}

/** E.g. `database or disk is full`; SQLite's own texts quote no values. */
export function describeSqlError(error: unknown): string {
  const { errstr } = error as { readonly errstr?: unknown };
  if (typeof errstr === 'string') return errstr;
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
