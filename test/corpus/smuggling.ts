/**
 * Messages with two possible readings, from publications on request smuggling. `why` gives
 * the rule concerned and the source. Sources by short name:
 *
 * - Linhart: Linhart, Klein, Heled, Orrin, "HTTP Request Smuggling", 2005
 * - Desync: Kettle, "HTTP Desync Attacks", 2019; the obfuscations that its tools try (also `defparam/smuggler`)
 * - Browser: Kettle, "Browser-Powered Desync Attacks", 2022 (CL.0, pauses, first request)
 * - Must Die: Kettle, "HTTP/1.1 Must Die", 2025 (0.CL, Expect, visible and hidden fields)
 * - T-Reqs: Jabiyev et al., "T-Reqs: HTTP Request Smuggling with Differential Fuzzing", 2021
 * - Garden: Kallus et al., "The HTTP Garden", 2024, and the defects reported to servers with it
 * - Funky: "Funky Chunks", 2025 (TERM.EXT, EXT.TERM, TERM.SPILL, SPILL.TERM, ONE.TWO, TWO.ONE, ZERO.TWO, TWO.ZERO)
 * - Probe: the cases of Http11Probe, 2026
 */
import { chunkMessages } from './smuggling/chunks.ts';
import { codingMessages } from './smuggling/codings.ts';
import { connectionMessages } from './smuggling/connections.ts';
import { fieldLineMessages } from './smuggling/field-lines.ts';
import { lengthMessages } from './smuggling/lengths.ts';
import type { AmbiguousMessage } from './smuggling/message.ts';
import { requestLineMessages } from './smuggling/request-lines.ts';

export const ambiguousMessages: readonly AmbiguousMessage[] = [
  ...lengthMessages,
  ...codingMessages,
  ...fieldLineMessages,
  ...chunkMessages,
  ...requestLineMessages,
  ...connectionMessages,
];
