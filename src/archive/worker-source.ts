/** worker.ts and its imports as one CommonJS text. The bundler writes it here (rolldown.config.js); empty without one. */
export const WORKER_SOURCE: string = '';
