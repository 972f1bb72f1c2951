/** A process of its own that connects again and again, and sends at once. Told `{ port }` it begins; told `{ isOver: true }` it tells. */
import net from 'node:net';

const AT_ONCE = 40;
/** What has been sent may still be answered. */
const LAST_MS = 50;
let port = 0;
let isOver = true;
let endings = {};

function count(ending) {
  endings[ending] = (endings[ending] ?? 0) + 1;
}

function connect() {
  if (isOver) return;
  const socket = net.connect(port, '127.0.0.1');
  let isAnswered = false;
  socket.on('connect', () => socket.write('x'));
  socket.on('data', () => {
    isAnswered = true;
  });
  socket.on('error', ({ code }) => count(code));
  socket.on('close', () => {
    if (isAnswered) count('answered');
    setImmediate(connect);
  });
}

process.on('message', (message) => {
  isOver = message.isOver === true;
  if (isOver) {
    setTimeout(() => process.send(endings), LAST_MS);
    return;
  }
  port = message.port;
  endings = {};
  for (let i = 0; i < AT_ONCE; i += 1) connect();
});
