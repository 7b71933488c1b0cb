import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Where the steps and values of a panel are drawn, in pixels. */
export interface Scale {
  readonly count: number;
  /** Width of one step. */
  readonly step: number;
  readonly width: number;
  readonly height: number;
  /** Left edge of a step. */
  readonly x: (index: number) => number;
  readonly y: (value: number) => number;
}

/** A drawing area with its own axis of values. */
export interface Panel {
  readonly key: string;
  readonly height: number;
  /** Upper end of the axis of values, above 0. */
  readonly most: number;
  /** A value of the axis in words. */
  readonly format: (value: number) => string;
  readonly draw: (scale: Scale) => ComponentChildren;
}

/** The width of an element, measured before it is first painted and when it changes; 0 until then. */
export function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(1, entry?.contentRect.width ?? 1)));
    if (box.current !== null) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return { box, width };
}

/** Draws a panel over the width of the chart. */
export function PanelDrawing(props: {
  readonly panel: Panel;
  readonly count: number;
  readonly width: number;
}) {
  const { panel, count, width } = props;
  const { height, most, format, draw } = panel;
  const step = width / Math.max(1, count);
  const y = (value: number): number => height - (value / most) * height;
  const lines = [most, most / 2, 0];
  return (
    <div class="chart-panel">
      <div class="chart-axis num" aria-hidden="true">
        {lines.map((value) => (
          <span key={value}>{format(value)}</span>
        ))}
      </div>
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
        {width > 0 && (
          <>
            {lines.map((value) => (
              <path key={value} class="chart-line" d={`M0 ${y(value)}H${width}`} />
            ))}
            {draw({ count, step, width, height, x: (index) => index * step, y })}
          </>
        )}
      </svg>
    </div>
  );
}
