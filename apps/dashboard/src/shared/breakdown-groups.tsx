/** The groups of usage as a table. */

import { DIMENSIONS, TITLES, labelOf, requestsOf } from './breakdown-choice.js';
import { colorsOf, groupName, valueOf } from './breakdown-figures.js';
import type { Figures, Group, ShownBreakdown } from './breakdown-figures.js';
import { Change, Value, counts } from './breakdown-values.js';
import { Money, TableFrame } from './parts.js';
import { route, to } from './router.js';
import { durationText } from './times.js';

/** The groups, each beside the period before. */
export function Groups(props: ShownBreakdown) {
  const { of, by, measure } = props;
  const isTime = measure === 'latency';
  const total = valueOf(of.total, measure);
  const colors = colorsOf(props);
  const groups = of.groups.filter(
    (group) => valueOf(group.total, measure) > 0n || valueOf(group.before, measure) > 0n,
  );
  const hasMargin = measure === 'spend' && (of.total as Figures).margin_usd !== undefined;
  // A phone has room for two figures.
  const change = hasMargin ? 'n wide-only' : 'n';
  return (
    <TableFrame label={`${TITLES[measure]} by ${labelOf(by)}`}>
      <table class="groups">
        <caption class="hidden">
          {TITLES[measure]} by {labelOf(by)}
        </caption>
        <thead>
          <tr>
            <th scope="col">{DIMENSIONS[by].label}</th>
            <th scope="col" class="n">
              {TITLES[measure]}
            </th>
            {!isTime && (
              <th scope="col" class="n wide-only">
                Share
              </th>
            )}
            <th scope="col" class={change}>
              Change
            </th>
            {hasMargin && (
              <th scope="col" class="n">
                Margin
              </th>
            )}
            <th scope="col" class="n wide-only">
              Failed
            </th>
            <th scope="col" class="n wide-only">
              Mean time
            </th>
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
        </tbody>
      </table>
    </TableFrame>
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
  const { failed, requests, mean_duration_ms: ms } = group.total;
  const { margin_usd: margin } = group.total as Figures;
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
        <Change from={valueOf(group.before, measure)} to={value} />
      </td>
      {props.hasMargin && <td class="n">{margin === undefined ? '–' : <Money usd={margin} />}</td>}
      <td class="n wide-only">
        {requests === 0 ? '–' : `${counts.format(failed)} of ${counts.format(requests)}`}
      </td>
      <td class="n wide-only">{ms === null ? '–' : durationText(ms)}</td>
    </tr>
  );
}

/** To the requests of a group, and to its usage by keys or models. */
function GroupLinks(props: GroupRowProps & { readonly value: string; readonly name: string }) {
  const { of, by, group, value, name, dimensions } = props;
  const narrower = by === 'model' ? 'key' : by === 'key' ? 'model' : undefined;
  return (
    <span class="row links">
      <a href={requestsOf(props, of, group)}>
        Requests<span class="hidden"> of {name}</span>
      </a>
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
  return permille > 0 && permille < 10 ? '< 1 %' : `${String(Math.round(permille / 10))} %`;
}
