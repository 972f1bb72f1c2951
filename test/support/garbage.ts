import v8 from 'node:v8';
import vm from 'node:vm';

v8.setFlagsFromString('--expose-gc');
export const collectGarbage = vm.runInNewContext('gc') as () => void;

/** Memory of this process in use, on the heap and in buffers, without garbage. */
export async function usedBytes(): Promise<number> {
  // Finalizers and the sweeper of buffers run between turns.
  for (let i = 0; i < 4; i += 1) {
    collectGarbage();
    await new Promise(setImmediate);
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
