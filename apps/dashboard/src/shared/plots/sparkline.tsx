/** A row of small bars without axes: how a figure went, in a cell of a table. */

const HEIGHT = 100;
const GAP = 0.2;
/** A day with little is still seen. */
const LEAST = 6;

/** @param props.label - What it shows, in words. */
export function Sparkline(props: { readonly values: readonly bigint[]; readonly label: string }) {
  const { values, label } = props;
  const highest = values.reduce((most, value) => (value > most ? value : most), 0n);
  const heightOf = (value: bigint) =>
    value <= 0n || highest === 0n ? 0 : Math.max(LEAST, Number((value * BigInt(HEIGHT)) / highest));
  return (
    <svg
      class="sparkline"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${String(values.length)} ${String(HEIGHT)}`}
      preserveAspectRatio="none"
    >
      <rect class="share-ground" y={HEIGHT - 2} width={values.length} height={2} />
      {values.map((value, index) => (
        <rect
          key={index}
          class="s0"
          x={index + GAP / 2}
          y={HEIGHT - heightOf(value)}
          width={1 - GAP}
          height={heightOf(value)}
        />
      ))}
    </svg>
  );
}
