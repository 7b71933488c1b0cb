import type { ComponentChildren } from 'preact';
import { useHeldRows } from '../live/pace.ts';
import { linkHere } from '../route.ts';

/** What a cell is without a value. */
const EMPTY: readonly ComponentChildren[] = ['–', false, null, undefined];

/** A column of a {@link DataTable}. */
export interface Column<Row> {
  readonly title: string;
  /** Explains the title. */
  readonly hint?: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Whether it names the row. */
  readonly isHead?: boolean;
  /** Whether it contains figures, which are aligned. */
  readonly isNumber?: boolean;
  /** Whether it takes the room that the others leave; what does not fit is cut. */
  readonly isWide?: boolean;
  /** Whether a narrow window leaves it out. */
  readonly isRare?: boolean;
  /**
   * What becomes of it on a phone, where a row has two lines: it is beside the name of the row, or at the end of the
   * second line; `labelled` puts the title before the cell. Default: in the second line.
   */
  readonly phone?: 'hidden' | 'beside' | 'end' | 'labelled';
  readonly class?: string;
  /** Name of the order that a click on the title chooses. Default: it cannot be chosen. */
  readonly order?: string;
}

/** An order of rows. */
export interface Order<Row> {
  readonly by: string;
  readonly isReversed: boolean;
  readonly compare: (a: Row, b: Row) => number;
  /** Whether the titles of columns choose it. */
  readonly isOffered: boolean;
}

/** The order in the address. @param orders by name; the first is the default, and is left out of the address */
export function orderIn<Row>(
  query: URLSearchParams,
  orders: Readonly<Record<string, (a: Row, b: Row) => number>>,
): Order<Row> {
  const asked = query.get('sort') ?? '';
  const [first = ''] = Object.keys(orders);
  const by = Object.hasOwn(orders, asked) ? asked : first;
  return {
    by,
    isReversed: query.get('order') === 'reversed',
    compare: orders[by] ?? (() => 0),
    isOffered: true,
  };
}

/**
 * Rows whose columns the view defines, without empty columns. They keep their places while the reader points at
 * them.
 */
export function DataTable<Row>(props: {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Identifies a row. */
  readonly keyOf: (row: Row) => string;
  /** Most rows to show. Default: all. */
  readonly most?: number | undefined;
  /** Default: that of `rows`. */
  readonly order?: Order<Row>;
  readonly class?: string;
  readonly rowClass?: (row: Row) => string | undefined;
}) {
  const { rows: given, keyOf, most, order, rowClass } = props;
  const { rows: held, holders } = useHeldRows(
    order === undefined ? given : sorted(given, order),
    keyOf,
    `${order?.by} ${order?.isReversed}`,
  );
  const rows = held.slice(0, most);
  const columns = props.columns.filter(
    ({ isHead, cell }) => isHead || rows.some((row) => !EMPTY.includes(cell(row))),
  );
  const classes = columns.map((column) => classOf(column));
  return (
    <div class="table-scroll" {...holders}>
      <table class={`lines ${props.class ?? ''}`}>
        <thead>
          <tr>
            {columns.map((column, index) => (
              <Head key={column.title} column={column} class={classes[index]} order={order} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} class={rowClass?.(row)}>
              {columns.map(({ title, isHead, phone, cell }, index) =>
                isHead ? (
                  <th key={title} scope="row" class={classes[index]}>
                    {cell(row)}
                  </th>
                ) : (
                  <td
                    key={title}
                    class={classes[index]}
                    data-label={phone === 'labelled' ? title : undefined}
                  >
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const sorted = <Row,>(rows: readonly Row[], { compare, isReversed }: Order<Row>): readonly Row[] =>
  rows.toSorted((a, b) => (isReversed ? compare(b, a) : compare(a, b)));

function classOf<Row>(column: Column<Row>): string | undefined {
  const { isNumber, isWide, isRare, phone } = column;
  const names = [
    column.class,
    isNumber && 'num',
    isWide && 'wide',
    isRare && 'rare',
    phone && `phone-${phone}`,
  ];
  return names.filter(Boolean).join(' ') || undefined;
}

/** A title. A click on that of a column with an order sorts by it, figures from the greatest, or reverses the order. */
function Head<Row>(props: {
  readonly column: Column<Row>;
  readonly class: string | undefined;
  readonly order: Order<Row> | undefined;
}) {
  const { column, order } = props;
  const { title, hint, order: own } = column;
  if (order?.isOffered !== true || own === undefined) {
    return (
      <th scope="col" class={props.class} title={hint}>
        {title}
      </th>
    );
  }
  const { by, isReversed } = order;
  const isSorted = own === by;
  const [word, sign] =
    (column.isNumber === true) === isReversed
      ? (['ascending', ' ↑'] as const)
      : (['descending', ' ↓'] as const);
  const link = linkHere({ sort: own, order: isSorted && !isReversed ? 'reversed' : null });
  return (
    <th scope="col" class={props.class} title={hint} aria-sort={isSorted ? word : undefined}>
      <a class="sort" href={link}>
        {title}
        <span aria-hidden="true">{isSorted ? sign : ''}</span>
      </a>
    </th>
  );
}
