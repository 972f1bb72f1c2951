/**
 * The commit that this build was made from: its first twelve digits, e.g. `3f9c2a1b7d04`, with `-dirty` appended if
 * files had been changed. The bundler writes it here (rolldown.config.js). `unknown` without a bundler or a repository.
 */
export const BUILD: string = 'unknown';
