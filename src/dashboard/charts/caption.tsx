import type { ComponentChildren } from 'preact';
import { type Row, valueAt } from './chart.ts';

/** The legend of a chart. It shows the values of the step at the pointer, otherwise totals. */
export function Caption(props: {
  readonly rows: readonly Row[];
  /** The step at the pointer; `null`: none. */
  readonly index: number | null;
  /** The step in words, otherwise the unit of the figures. Default: nothing. */
  readonly when?: string;
  /** Further entries. */
  readonly more?: ComponentChildren;
  readonly isTable: boolean;
  readonly setTable: (isTable: boolean) => void;
}) {
  const { rows, index, when, more, isTable, setTable } = props;
  return (
    <figcaption>
      {rows.map((row) => (
        <Entry key={row.key} row={row}>
          <i class={`chart-mark mark-${row.tone}`} aria-hidden="true">
            {row.mark}
          </i>
          {row.label} <b class="num">{index === null ? row.total : (valueAt(row, index) ?? '–')}</b>
        </Entry>
      ))}
      {when !== undefined && <span class="chart-when dim num">{when}</span>}
      {more}
      <button
        type="button"
        class="small chart-as-table"
        aria-pressed={isTable}
        onClick={() => setTable(!isTable)}
      >
        As table
      </button>
    </figcaption>
  );
}

function Entry({ row, children }: { readonly row: Row; readonly children: ComponentChildren }) {
  const { isOn, isolate } = row;
  if (isolate === undefined) return <span class="chart-entry">{children}</span>;
  return (
    <button type="button" class="chart-entry" aria-pressed={isOn !== false} onClick={isolate}>
      {children}
    </button>
  );
}

/** Stands where a chart has no figure. */
export const NotRecorded = () => <p class="dim">Not recorded in this period.</p>;

/** The figures of a chart as a table. */
export function ChartTable(props: {
  readonly label: string;
  /** Name of the first column. */
  readonly head: string;
  readonly rows: readonly Row[];
  /** One for each step. */
  readonly steps: readonly string[];
}) {
  const { label, head, rows, steps } = props;
  return (
    <div class="table-scroll chart-table" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">{head}</th>
            {rows.map(({ key, label: name }) => (
              <th key={key} scope="col" class="num">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {steps.map((step, index) => (
            <tr key={step}>
              <th scope="row" class="num">
                {step}
              </th>
              {rows.map((row) => (
                <td key={row.key} class="num">
                  {valueAt(row, index) ?? '–'}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
