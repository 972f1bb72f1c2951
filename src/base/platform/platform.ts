import type { OperatingSystem } from './operating-system.ts';
import { posix } from './posix.ts';
import { windows } from './windows.ts';

/** The system that this process runs on. */
export const platform: OperatingSystem = process.platform === 'win32' ? windows : posix;
