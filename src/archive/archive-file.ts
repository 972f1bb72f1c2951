/** Opens the file of the history, and creates its tables. docs/history.md describes them. */
import { closeSync, constants, existsSync, openSync, renameSync, statSync } from 'node:fs';
import { type Database, isDamage, openDatabase } from './sqlite.ts';
import { STEP_COLUMNS, TOTALS } from './step-row.ts';

/** "D2SH": tells files of this program from those of others. */
const APPLICATION_ID = 0x44325348;
/** Raise it when a column changes its meaning: a file of another layout is set aside. */
const LAYOUT = 1;
/** Refused files are never deleted, and so not replaced. */
const MAX_ASIDE = 9;

/** A file that was set aside, and its name since then. */
export interface Refused {
  readonly reason: 'damaged' | 'older' | 'newer';
  readonly file: string;
}

/** Node.js writes every number as a floating-point one, which this affinity makes an integer again: fewer bytes. */
const declare = (columns: readonly string[]) => columns.map((column) => `${column} NUMERIC`).join(', ');

const SCHEMA = `
  CREATE TABLE series (id INTEGER PRIMARY KEY, application TEXT, kind TEXT, name TEXT, lastTime INTEGER,
    UNIQUE (application, kind, name));
  CREATE TABLE steps (step INTEGER, time INTEGER, series INTEGER, ${declare(STEP_COLUMNS)},
    PRIMARY KEY (step, time, series)) WITHOUT ROWID;
  CREATE TABLE totals (application TEXT, step INTEGER, time INTEGER, ${declare(Object.keys(TOTALS))},
    PRIMARY KEY (application, step, time)) WITHOUT ROWID;
  CREATE TABLE marks (time REAL, until REAL, kind TEXT, text TEXT, PRIMARY KEY (time, kind, text)) WITHOUT ROWID;
  CREATE TABLE lastHour (time INTEGER, application TEXT, minute BLOB);
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${LAYOUT};`;

interface Opened {
  readonly database: Database;
  readonly refused?: Refused;
}

/** Opens or creates `file`; sets an unusable one aside. Throws for a database of another program. */
export function openArchiveFile(file: string): Opened {
  let database: Database | undefined;
  try {
    if (!existsSync(file)) closeSync(openSync(file, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600));
    database = openDatabase(file);
    const refusal = prepare(database, file);
    if (refusal === undefined) return { database };
    database.close();
    return setAside(file, refusal);
  } catch (error) {
    database?.close();
    if (isDamage(error)) return setAside(file, 'damaged');
    throw error;
  }
}

/** Renames the file and what SQLite keeps beside it, and begins a new one. Throws if no name is free. */
export function setAside(file: string, reason: Refused['reason']): Opened {
  const names = Array.from({ length: MAX_ASIDE }, (_, at) => `${file}.${reason}${at === 0 ? '' : `-${at + 1}`}`);
  const free = names.find((name) => !existsSync(name));
  if (free === undefined) throw new Error(`it is ${reason}, and ${MAX_ASIDE} such files lie beside it: delete some`);
  for (const suffix of ['', '-wal', '-shm']) {
    if (existsSync(file + suffix)) renameSync(file + suffix, free + suffix);
  }
  return { ...openArchiveFile(file), refused: { reason, file: free } };
}

/** Returns why the file cannot be used. */
function prepare(database: Database, file: string): Refused['reason'] | undefined {
  const pragma = (name: string) => Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
  const hadLog = existsSync(`${file}-wal`);
  database.exec('PRAGMA busy_timeout = 2000');
  const isEmpty = database.prepare('SELECT 1 FROM sqlite_schema').get() === undefined;
  if (!isEmpty) {
    if (pragma('application_id') !== APPLICATION_ID)
      throw new Error('it is a database of another program: name another file');
    const layout = pragma('user_version');
    if (layout !== LAYOUT) return layout < LAYOUT ? 'older' : 'newer';
    // SQLite reads the rest of a torn page as zeros. Its log, if there is one, has the whole page.
    if (!hadLog && statSync(file).size % pragma('page_size') !== 0) return 'damaged';
  }
  // Rows of busy names have 1 to 2 KB, which fit into a page of this size.
  if (isEmpty) database.exec('PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL');
  // FULL: what is written once a minute also survives a power failure.
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -4000');
  database.exec('PRAGMA wal_autocheckpoint = 256; PRAGMA journal_size_limit = 4194304');
  if (isEmpty) database.exec(`BEGIN IMMEDIATE; ${SCHEMA} COMMIT`);
  return undefined;
}
