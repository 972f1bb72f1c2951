/** Draws restarts, drains, losses and verdicts as lines through all charts, with names above the first, and a verdict's length as a shade. */
import type uPlot from 'uplot';
import type { Mark } from './live-data.ts';

interface MarkStyle {
  readonly colour: string;
  /** Fills the time for which a verdict lasts. */
  readonly shade: string;
  readonly text: string;
  readonly font: string;
  readonly hasNames: boolean;
}

const GAP_PX = 6;

/** E.g. `upstream lost` for `upstreamLost`, and `JVM back` for `jvmBack`. */
export function formatMarkName(kind: string): string {
  return kind.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replace('jvm', 'JVM');
}

export function drawMarks(plot: uPlot, marks: readonly Mark[], style: MarkStyle): void {
  const { ctx, bbox } = plot;
  const { min, max } = plot.scales.x ?? {};
  if (min === null || min === undefined || max === null || max === undefined) return;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = style.colour;
  ctx.fillStyle = style.text;
  ctx.lineWidth = ratio;
  ctx.font = style.font.replace(/^\d+/, (size) => String(Number(size) * ratio));
  ctx.textBaseline = 'alphabetic';
  // Drawing the axes changes textAlign.
  ctx.textAlign = 'left';
  let freeTo = bbox.left + bbox.width;
  // Latest first: if two names do not fit, the latest is shown.
  for (const { t, kind, end = max } of [...marks].reverse()) {
    if (kind === 'verdict') drawShade(plot, Math.max(t, min), Math.min(end, max), style.shade);
    if (t < min || t > max) continue;
    const x = Math.round(plot.valToPos(t, 'x', true)) + 0.5;
    ctx.setLineDash(kind.endsWith('Lost') || kind === 'drain' ? [] : [4 * ratio, 3 * ratio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top - (style.hasNames ? 3 * ratio : 0));
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    if (style.hasNames) freeTo = drawName(plot, formatMarkName(kind), x, freeTo);
  }
  ctx.restore();
}

function drawShade(plot: uPlot, fromS: number, toS: number, shade: string): void {
  if (toS <= fromS) return;
  const { ctx, bbox } = plot;
  const [left, right] = [plot.valToPos(fromS, 'x', true), plot.valToPos(toS, 'x', true)];
  ctx.save();
  ctx.globalCompositeOperation = 'destination-over';
  ctx.fillStyle = shade;
  ctx.fillRect(left, bbox.top, right - left, bbox.height);
  ctx.restore();
}

/** Shifts a name left of the edge or its neighbour; omits it if it would not touch its line. Returns the next end. */
function drawName({ ctx, bbox }: uPlot, name: string, x: number, freeTo: number): number {
  const ratio = devicePixelRatio;
  const { width } = ctx.measureText(name);
  const start = Math.min(x - 2 * ratio, freeTo - width);
  if (start + width < x - 2 * ratio || start < 0) return freeTo;
  ctx.fillText(name, start, bbox.top - 5 * ratio);
  return start - GAP_PX * ratio;
}
