import type { Socket } from 'node:net';

const KEEP_ALIVE_DELAY_MS = 60_000;

/**
 * TCP keep-alive detects dead peers of held long polls, since nothing else is sent to them. Call it for connections that
 * have lived for some seconds: four system calls would be a tenth of what a connection for one request costs. Further
 * calls do nothing.
 */
export function keepAlive(socket: Socket): void {
  socket.setKeepAlive(true, KEEP_ALIVE_DELAY_MS);
}
