#!/usr/bin/env node
/**
 * The entry point. It has one static import, so that signals are handled before the program is loaded: until then
 * SIGUSR1 opens Node's debugger, in which every user of the machine can run code.
 */
import { closeStrayDebugger, handleStraySignals } from './cli/stray-signals.ts';

handleStraySignals();
const { runProgram } = await import('./program.ts');
closeStrayDebugger();
await runProgram();
