/** Loaded before the program: gives it the signal that the file D2S_SIGNAL_FILE names, for those that nothing sends in Wine. */
import { readFileSync, rmSync } from 'node:fs';
import process from 'node:process';

const { D2S_SIGNAL_FILE: file = '' } = process.env;
const timer = setInterval(() => {
  let name;
  try {
    name = readFileSync(file, 'utf8');
    rmSync(file);
  } catch {
    // No signal yet.
    return;
  }
  clearInterval(timer);
  process.emit(name, name);
}, 50);
