/**
 * Which source this was made of: the first twelve digits of the commit, with `-dirty` behind it where files had been changed, e.g.
 * `3f9c2a1b7d04`. The bundler writes it in here (rolldown.config.js); `unknown` where it does not, or where there is no repository.
 */
export const BUILD: string = 'unknown';
