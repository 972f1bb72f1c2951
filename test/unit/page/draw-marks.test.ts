import type uPlot from 'uplot';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { drawMarks } from '../../../src/page/draw-marks.ts';

const LETTER_PX = 6;
const WIDTH_PX = 600;
const LOOK = { colour: 'grey', shade: 'yellow', text: 'black', font: '11px sans-serif', hasNames: true };

beforeEach(() => vi.stubGlobal('devicePixelRatio', 1));
afterEach(() => vi.unstubAllGlobals());

/** The start of each name, and the position of each line, of marks by their second; a second is a pixel. */
function drawn(kinds: Readonly<Record<number, string>>) {
  const marks = Object.entries(kinds).map(([t, kind]) => ({ t: Number(t), kind, text: '' }));
  const names: [string, number][] = [];
  const lines: number[] = [];
  const ctx = {
    // As the labels of uPlot's axes leave it.
    textAlign: 'right',
    ...{ save: () => {}, restore: () => {}, beginPath: () => {}, stroke: () => {}, lineTo: () => {} },
    setLineDash: () => {},
    moveTo: (x: number) => lines.push(Math.floor(x)),
    measureText: (text: string) => ({ width: text.length * LETTER_PX }),
    fillText: (text: string, x: number) => names.push([`${ctx.textAlign} ${text}`, Math.round(x)]),
  };
  const plot = {
    ctx,
    bbox: { left: 0, top: 20, width: WIDTH_PX, height: 80 },
    scales: { x: { min: 0, max: WIDTH_PX } },
    valToPos: (t: number) => t,
  };
  drawMarks(plot as unknown as uPlot, marks, LOOK);
  return { names: Object.fromEntries(names), lines: lines.sort((a, b) => a - b) };
}

it('marks are lines at their times, each with its name, which is on the left near the edge, and never outside of the axis', () => {
  const { names, lines } = drawn({ [-5]: 'reload', 100: 'start', 300: 'drain', 700: 'reload' });
  expect(lines).toEqual([100, 300]);
  expect(names).toEqual({ 'left start': 99, 'left drain': 299 });
  expect(drawn({ 590: 'upstreamLost' }).names).toEqual({ 'left upstream lost': WIDTH_PX - 13 * LETTER_PX });
});

it('marks show the latest name if there is no room for all; the other one moves left if it still touches its line', () => {
  const { names, lines } = drawn({ 300: 'jvmLost', 330: 'upstreamLost' });
  expect(lines).toEqual([300, 330]);
  // It ends 6 px before the next one begins.
  expect(names).toEqual({ 'left upstream lost': 329, 'left JVM lost': 329 - 6 - 8 * LETTER_PX });
  const near = drawn({ 580: 'jvmLost', 590: 'upstreamLost' });
  expect(near.names).toEqual({ 'left upstream lost': WIDTH_PX - 13 * LETTER_PX });
  expect(near.lines).toEqual([580, 590]);
});
