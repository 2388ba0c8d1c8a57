import { writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ActionOutput } from '@muster/actions/client'
import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { CliError } from './errors.ts'
import { readList } from './lists.ts'
import { createProgress } from './progress.ts'
import { retry } from './retry.ts'
import { plain } from './table.ts'

/** Interval of the questions how far a bulk action is, in milliseconds. */
const POLL_MS = 500

/** Options of all commands that change many devices. */
export type ChangeOptions = { project: string; yes?: boolean; dryRun?: boolean; report?: string }
type Preview = ActionOutput<'devices_GetBulkPreview'>
type State = ActionOutput<'devices_GetBulkAction'>

/** Adds the options of a command that changes many devices. */
export function withChangeOptions(command: Command): Command {
  return command
    .option('--yes', 'change without a question')
    .option('--dry-run', 'show only what would change')
    .option('--report <file>', 'write the result for each device to a CSV file')
}

/**
 * Shows what a previewed bulk action will change, asks for consent, runs it and prints its result. Throws a `CliError` without consent, and if
 * a device or a row was refused.
 */
export async function runChange(
  context: CommandContext,
  command: Command,
  preview: Preview,
  options: ChangeOptions,
): Promise<void> {
  const { invoke, err, print } = context
  const { project: projectId, yes = false, dryRun = false, report } = options
  const { bulkActionId, changeCount } = preview
  err(previewText(preview))
  if (changeCount === 0 || dryRun) {
    if (report !== undefined) await writeReport(context, command, projectId, preview, report)
    await invoke(command, 'devices_CancelBulkAction', { projectId, bulkActionId })
    print(command, preview, changeCount === 0 ? 'Nothing to do.' : 'Nothing was changed.')
    if (!dryRun) throwIfRefused(preview.problems ?? [], 0)
    return
  }
  if (!yes && !(await consents(context, changeCount))) {
    await invoke(command, 'devices_CancelBulkAction', { projectId, bulkActionId })
    throw new CliError(`Nothing was changed. Add --yes to change ${devices(changeCount)}.`)
  }
  await invoke(command, 'devices_StartBulkChange', { projectId, bulkActionId })
  const state = await watch(context, command, projectId, bulkActionId, preview.itemCount - changeCount)
  if (report !== undefined) await writeReport(context, command, projectId, preview, report)
  print(command, state, resultText(state))
  if (state.undoForSecs !== undefined)
    err(
      `Undo for ${Math.floor(state.undoForSecs / 60)} min: muster devices undo --project ${projectId} ${bulkActionId}\n`,
    )
  requireCompleted(state)
  throwIfRefused(preview.problems ?? [], changeCount - state.succeededCount)
}

/** Undoes a bulk action and prints the result. Throws a `CliError` if a device was refused. */
export async function runUndo(
  context: CommandContext,
  command: Command,
  projectId: string,
  bulkActionId: string,
): Promise<void> {
  const { invoke, print } = context
  const undo = await invoke(command, 'devices_StartBulkUndo', { projectId, bulkActionId })
  const state = await watch(context, command, projectId, undo.bulkActionId, 0)
  print(command, state, resultText(state))
  requireCompleted(state)
  throwIfRefused([], state.itemCount - state.succeededCount)
}

/** Waits for the end of a bulk action and shows its progress. `skipped` is the number of items that the preview has skipped. */
async function watch(
  context: CommandContext,
  command: Command,
  projectId: string,
  bulkActionId: string,
  skipped: number,
): Promise<State> {
  const { invoke, signal, err } = context
  const read = () =>
    retry(() => invoke(command, 'devices_GetBulkAction', { projectId, bulkActionId }), signal)
  let state = await read()
  if (!isUnfinished(state)) return state
  const progress = await createProgress(context)
  try {
    const shown = progress.start('Changing', state.itemCount - skipped, 'devices')
    while (isUnfinished(state)) {
      shown.at(doneOf(state) - skipped)
      await sleep(POLL_MS, undefined, { signal })
      state = await read()
    }
    shown.at(doneOf(state) - skipped)
    shown.end(state.status.toLowerCase())
  } finally {
    progress.stop()
    if (signal.aborted)
      err(
        `The hub works on. To stop it: muster actions devices_CancelBulkAction --project-id ${projectId} --bulk-action-id ${bulkActionId}\n`,
      )
  }
  return state
}

const isUnfinished = ({ status }: State): boolean => status === 'Waiting' || status === 'Running'
const doneOf = ({ succeededCount, skippedCount, failedCount }: State): number =>
  succeededCount + skippedCount + failedCount

function devices(count: number): string {
  return count === 1 ? '1 device' : `${count} devices`
}

function previewText(preview: Preview): string {
  const { changeCount, first, excluded, leftOutCount, sharedNameCount, problems = [] } = preview
  const lines = [`Will change ${devices(changeCount)}.`]
  for (const { deviceId, name, hostname, changes } of first) {
    const words = changes.map(
      ({ label, before, after }) =>
        `${label ?? 'name'} ${plain(before)} → ${after === undefined ? 'removed' : plain(after)}`,
    )
    lines.push(`  ${plain(name ?? hostname ?? deviceId)}: ${words.join(', ')}`)
  }
  if (changeCount > first.length) lines.push(`  and ${devices(changeCount - first.length)} more`)
  if (sharedNameCount > 0) lines.push(`${devices(sharedNameCount)} would share a name.`)
  for (const { reason, deviceCount } of excluded)
    lines.push(`Not changed, ${REASONS[reason] ?? reason}: ${devices(deviceCount)}.`)
  if (leftOutCount > 0) lines.push(`Not in this project: ${devices(leftOutCount)}.`)
  for (const { problem, rowCount, first: rows } of problems) {
    lines.push(`${PROBLEMS[problem] ?? problem}: ${rowCount === 1 ? '1 row' : `${rowCount} rows`}.`)
    for (const { row, key, message } of rows)
      lines.push(`  line ${row}: ${plain(key)}${message === undefined ? '' : `: ${plain(message)}`}`)
    if (rowCount > rows.length) lines.push(`  and ${rowCount - rows.length} more`)
  }
  return `${lines.join('\n')}\n`
}

/** Words of the reasons why a device does not change. */
const REASONS: Record<string, string> = {
  AlreadySet: 'nothing to do',
  TooManyLabels: 'they would have too many labels',
  ValueMissing: 'they lack a value of the pattern',
  NameTooLong: 'the name would be too long',
  NameInvalid: 'the name would be no name',
  ChangedMeanwhile: 'somebody changed them meanwhile',
  DeviceDeleted: 'they were deleted',
  OverLimit: 'a limit of writes was reached',
  HubError: 'the hub failed',
}

/** Words of the problems of rows. */
const PROBLEMS: Record<string, string> = {
  NotFound: 'No device found',
  Ambiguous: 'Several devices found',
  Doubled: 'Device named twice',
  Invalid: 'Wrong cell',
}

function resultText({ status, succeededCount, skippedCount, failedCount, reasons = [] }: State): string {
  const ending = status === 'Completed' ? '' : ` ${status}.`
  const refused = reasons.map(({ reason, itemCount }) => `${REASONS[reason] ?? reason}: ${itemCount}`)
  const others = skippedCount + failedCount > 0 ? ` Not changed: ${refused.join(', ')}.` : ''
  return `Changed ${devices(succeededCount)}.${others}${ending}`
}

function requireCompleted({ status }: State): void {
  if (status !== 'Completed')
    throw new CliError(`The bulk action ended as ${status}, expected Completed. Run the command again.`)
}

function throwIfRefused(problems: NonNullable<Preview['problems']>, refused: number): void {
  const rows = problems.reduce((sum, { rowCount }) => sum + rowCount, 0)
  const parts = [
    ...(refused > 0 ? [`${devices(refused)} of the preview`] : []),
    ...(rows > 0 ? [`${rows === 1 ? '1 row' : `${rows} rows`} of the file`] : []),
  ]
  if (parts.length > 0) throw new CliError(`Not changed: ${parts.join(' and ')}. --report FILE lists all.`)
}

/** Asks on a terminal whether to go on. Elsewhere nobody can answer. */
async function consents({ input, ask, signal }: CommandContext, count: number): Promise<boolean> {
  const stream = input()
  if (!('isTTY' in stream) || stream.isTTY !== true) return false
  const lines = createInterface({ input: stream })
  try {
    ask(`Change ${devices(count)}? [y/N] `)
    const next = await Promise.race([
      lines[Symbol.asyncIterator]().next(),
      new Promise<never>((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
      ),
    ])
    return !next.done && /^y(es)?$/i.test(next.value.trim())
  } finally {
    lines.close()
  }
}

/** Writes the results of all devices and the refused rows of an import. */
async function writeReport(
  context: CommandContext,
  command: Command,
  projectId: string,
  { bulkActionId, problems = [] }: Preview,
  file: string,
): Promise<void> {
  const { resultCsv } = await import('@muster/csv')
  const ids = { projectId, bulkActionId }
  const items = await readList(context, command, 'devices_QueryBulkActionItems', ids)
  const rows =
    problems.length === 0 ? [] : await readList(context, command, 'devices_QueryBulkImportProblems', ids)
  await writeFile(file, resultCsv(items, rows))
}
