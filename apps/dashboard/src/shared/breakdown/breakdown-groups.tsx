/** The groups of usage as a table. */

import {
  COLUMN_SORTS,
  DIMENSIONS,
  LEDGER,
  SPENT_BY,
  TITLES,
  labelOf,
  requestsOf,
  sortOf,
} from './breakdown-choice.js';
import type { GroupSort } from './breakdown-choice.js';
import {
  colorsOf,
  groupName,
  notRecorded,
  valueOf,
  whyUnknownBefore,
} from './breakdown-figures.js';
import type { Figures, Group, ShownBreakdown } from './breakdown-figures.js';
import { Change, Value, counts } from './breakdown-values.js';
import { Signed, SortedHeader, TableFrame } from '../controls/parts.js';
import { changeQuery, route, to } from '../api/router.js';
import { durationText } from '../text/times.js';

/** The groups, each beside the period before. */
export function Groups(props: ShownBreakdown) {
  const { of, by, measure } = props;
  const isTime = measure === 'latency';
  const total = valueOf(of.total, measure);
  const colors = colorsOf(props);
  const isKnown = whyUnknownBefore(props, 'group') === undefined;
  const rest = notRecorded(props)?.total;
  const lacking = rest === undefined ? 0n : valueOf(rest, measure);
  const groups = of.groups.filter(
    ({ total: now, before }) =>
      valueOf(now, measure) > 0n || (isKnown && valueOf(before, measure) > 0n),
  );
  const hasMargin =
    measure === 'spend' && groups.some(({ total: sum }) => (sum as Figures).cost_usd !== undefined);
  // A phone has room for two figures.
  const change = hasMargin ? 'n wide-only' : 'n';
  const isOfRecord = !SPENT_BY.has(by);
  return (
    <TableFrame label={`${TITLES[measure]} by ${labelOf(by)}`}>
      <table class="groups">
        <caption class="hidden">
          {TITLES[measure]} by {labelOf(by)}
        </caption>
        <thead>
          <tr>
            <th scope="col">{DIMENSIONS[by].label}</th>
            <GroupHeader label={TITLES[measure]} sort={COLUMN_SORTS[measure]} of={props} />
            {!isTime && (
              <th scope="col" class="n wide-only">
                Share
              </th>
            )}
            <th scope="col" class={change}>
              Change
            </th>
            {hasMargin && <GroupHeader label="Margin" sort="margin" of={props} />}
            {measure !== 'errors' && isOfRecord && (
              <GroupHeader label="Failed" sort="failed" of={props} isWide />
            )}
            {measure === 'errors' && (
              <th scope="col" class="n wide-only">
                Failed
              </th>
            )}
            {isOfRecord && (
              <th scope="col" class="n wide-only">
                Mean time
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {groups.map((group) => (
            <GroupRow
              key={group.value ?? groupName(props, group)}
              {...props}
              group={group}
              color={colors.get(group) ?? 'others'}
              total={total}
              change={change}
              hasMargin={hasMargin}
            />
          ))}
          {lacking !== 0n && (
            <tr data-group="not recorded">
              <th scope="row">
                <i class="swatch unrecorded" />
                not recorded
              </th>
              <td class="n">
                <Value of={lacking} measure={measure} />
              </td>
              <td class="n wide-only">{shareText(lacking, total)}</td>
              <td class={change} />
              <td class="n wide-only" colSpan={hasMargin ? 3 : 2} />
            </tr>
          )}
        </tbody>
      </table>
    </TableFrame>
  );
}

/** A header that sorts all groups, not only those that are shown. */
function GroupHeader(props: {
  readonly label: string;
  readonly sort: GroupSort;
  readonly of: Pick<ShownBreakdown, 'measure' | 'by'>;
  readonly isWide?: true;
}) {
  const { label, sort, of, isWide } = props;
  const inForce = sortOf(route.value.query, of);
  const first = sort === 'margin' ? 'least' : 'most';
  const order = inForce.order ?? (inForce.sort === 'margin' ? 'least' : 'most');
  const isSorted = inForce.sort === sort;
  return (
    <SortedHeader
      label={label}
      class={isWide ? 'n wide-only' : 'n'}
      isRising={isSorted ? order === 'least' : undefined}
      sort={() => {
        const other = order === 'most' ? 'least' : 'most';
        changeQuery({ sort, order: isSorted ? other : first });
      }}
    />
  );
}

interface GroupRowProps extends ShownBreakdown {
  readonly group: Group;
  readonly color: string;
  /** Of all groups. */
  readonly total: bigint;
  /** The class of the cell with the change. */
  readonly change: string;
  readonly hasMargin: boolean;
}

function GroupRow(props: GroupRowProps) {
  const { group, measure, change } = props;
  const value = valueOf(group.total, measure);
  const { failed, requests, charges, mean_duration_ms: ms } = group.total;
  const { margin_usd: margin } = group.total as Figures;
  const isPart = LEDGER.has(props.by) && requests < charges;
  const name = groupName(props, group);
  return (
    <tr data-group={group.value ?? name}>
      <th scope="row">
        <i class={`swatch ${props.color}`} />
        {name}
        {group.value !== null && <GroupLinks {...props} value={group.value} name={name} />}
      </th>
      <td class="n">
        <Value of={value} measure={measure} />
      </td>
      {measure !== 'latency' && <td class="n wide-only">{shareText(value, props.total)}</td>}
      <td class={change}>
        <Change
          from={valueOf(group.before, measure)}
          to={value}
          unknown={whyUnknownBefore(props, 'group')}
        />
      </td>
      {props.hasMargin && (
        <td class="n">
          {margin === undefined ? <span class="quiet">unknown</span> : <Signed usd={margin} />}
        </td>
      )}
      {!SPENT_BY.has(props.by) && (
        <>
          <td class="n wide-only">
            {requests === 0
              ? isPart
                ? 'not recorded'
                : '–'
              : `${counts.format(failed)} of ${counts.format(requests)}`}
            {requests > 0 && isPart && <span class="when">recorded</span>}
          </td>
          <td class="n wide-only">{ms === null ? '–' : durationText(ms)}</td>
        </>
      )}
    </tr>
  );
}

/** To the requests of a group, and to its usage by keys or models. */
function GroupLinks(props: GroupRowProps & { readonly value: string; readonly name: string }) {
  const { of, by, group, value, name, dimensions } = props;
  const narrower = by === 'model' ? 'key' : by === 'key' ? 'model' : undefined;
  return (
    <span class="row links">
      {/* The list of requests has no filter for members and groups. */}
      {by !== 'member' && by !== 'group' && (
        <a href={requestsOf(props, of, group)}>
          Requests<span class="hidden"> of {name}</span>
        </a>
      )}
      {narrower !== undefined && dimensions.includes(narrower) && (
        <a
          href={to(route.value.path, {
            ...route.value.query,
            [DIMENSIONS[by].filter]: value,
            by: narrower,
          })}
        >
          By {narrower}
          <span class="hidden">, only {name}</span>
        </a>
      )}
    </span>
  );
}

function shareText(value: bigint, total: bigint): string {
  if (total === 0n) return '–';
  const permille = Number((value * 1000n) / total);
  return value > 0n && permille < 10 ? '< 1 %' : `${String(Math.round(permille / 10))} %`;
}
