import {
  ActionError,
  type ImportProblem,
  LabelValue,
  MAX_IMPORT_ROWS,
  Name,
  type ParsedInput,
} from '@muster/actions'
import { sql } from 'kysely'
import type { Tx } from '../../../platform/database/client/connection.ts'
import { devicesByKeys } from '../../devices/index.ts'
import type { WantedMarks } from './change.ts'
import { type PlannedItem, planOf, readDevices, storeItems } from './plan.ts'

/** Form of an import: what its keys and columns are. */
export type ImportForm = Pick<
  ParsedInput<'devices_CreateBulkImport'>,
  'by' | 'property' | 'columns' | 'emptyRemoves'
>
type ImportRow = ParsedInput<'devices_AddBulkImportRows'>['rows'][number]
type Problem = { position: number; row: number; key: string; problem: ImportProblem; message?: string }

/** Number of devices that the message about an ambiguous key names. */
const NAMED = 3

/**
 * Adds rows to an import whose row is locked: finds the device of each row, and plans its changes. The row that names a device first counts.
 * Throws `Invalid` for too many rows, and for a row without a value for each column.
 */
export async function addImportRows(
  tx: Tx,
  {
    bulkActionId,
    projectId,
    form,
    rowCount,
  }: { bulkActionId: string; projectId: string; form: ImportForm; rowCount: number },
  rows: readonly ImportRow[],
): Promise<{ rowCount: number }> {
  const all = rowCount + rows.length
  if (all > MAX_IMPORT_ROWS)
    throw new ActionError(
      'Invalid',
      `Found ${all} rows, expected at most ${MAX_IMPORT_ROWS} in one import. Import them in several.`,
      { status: 409 },
    )
  const cells = new Cells(form)
  const devices = await devicesByKeys(tx, projectId, form, [...new Set(rows.map(({ key }) => key.trim()))])
  const firstRows = await rowsOfDevices(tx, bulkActionId, [...devices.values()].flat())
  const problems: Problem[] = []
  const wanted: { position: number; row: number; deviceId: string; marks: WantedMarks }[] = []
  for (const [at, { row, key: text, values }] of rows.entries()) {
    const key = text.trim()
    const position = rowCount + at
    const fails = (problem: ImportProblem, message?: string) =>
      problems.push({ position, row, key, problem, ...(message !== undefined && { message }) })
    const found = devices.get(key) ?? []
    const [deviceId] = found
    const read = cells.marksOf(row, values)
    const firstRow = deviceId === undefined ? undefined : firstRows.get(deviceId)
    if (key === '') fails('Invalid', 'The key is empty.')
    else if (deviceId === undefined) fails('NotFound')
    else if (found.length > 1) fails('Ambiguous', ambiguousWords(found))
    else if (firstRow !== undefined) fails('Doubled', `Row ${firstRow} names this device too.`)
    else if ('problem' in read) fails('Invalid', read.problem)
    else {
      firstRows.set(deviceId, row)
      wanted.push({ position, row, deviceId, marks: read })
    }
  }
  const known = await readDevices(
    tx,
    projectId,
    wanted.map(({ deviceId }) => deviceId),
  )
  const items = wanted.flatMap(({ deviceId, marks, ...place }): PlannedItem[] => {
    const device = known.get(deviceId)
    // It was deleted between the two queries.
    return device ? [{ ...place, device, plan: planOf(marks, device) }] : []
  })
  await storeProblems(tx, bulkActionId, problems)
  const { itemCount, skippedCount } = await storeItems(tx, bulkActionId, items)
  await tx
    .updateTable('bulk_action')
    .set({
      row_count: all,
      item_count: sql`item_count + ${itemCount}` as never,
      skipped_count: sql`skipped_count + ${skippedCount}` as never,
    })
    .where('bulk_action_id', '=', bulkActionId)
    .execute()
  return { rowCount: all }
}

function ambiguousWords(deviceIds: readonly string[]): string {
  const named = deviceIds.slice(0, NAMED).join(', ')
  return `${deviceIds.length} devices have it: ${named}${deviceIds.length > NAMED ? ', …' : ''}.`
}

/** Reads the cells of rows. Equal cells of a column are checked once. */
class Cells {
  readonly #form: ImportForm
  readonly #read: Map<string, { value: string } | { problem: string }>[]

  constructor(form: ImportForm) {
    this.#form = form
    this.#read = form.columns.map(() => new Map())
  }

  marksOf(row: number, values: readonly string[]): WantedMarks | { problem: string } {
    const { columns, emptyRemoves } = this.#form
    if (values.length !== columns.length)
      throw new ActionError(
        'Invalid',
        `rows: row ${row} has ${values.length} values, expected ${columns.length}, one for each column.`,
      )
    const labels = new Map<string, string | null>()
    let name: string | null | undefined
    for (const [at, column] of columns.entries()) {
      const text = values[at]!.trim()
      if (text === '' && !emptyRemoves) continue
      const read = text === '' ? { value: null } : this.#cell(at, column, text)
      if ('problem' in read) return read
      if (column === 'name') name = read.value
      else labels.set(column.slice('label.'.length), read.value)
    }
    return { name, labels }
  }

  #cell(at: number, column: string, text: string): { value: string } | { problem: string } {
    const known = this.#read[at]!.get(text)
    if (known) return known
    const { data, error } = (column === 'name' ? Name : LabelValue).safeParse(text)
    const read =
      data === undefined ? { problem: `${column}: ${error!.issues[0]!.message}.` } : { value: data as string }
    this.#read[at]!.set(text, read)
    return read
  }
}

/** Rows of an import that name devices, by these devices. */
async function rowsOfDevices(
  tx: Tx,
  bulkActionId: string,
  deviceIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await tx
    .selectFrom('bulk_action_item')
    .where('bulk_action_id', '=', bulkActionId)
    .where(sql<boolean>`device_id = any (${deviceIds}::text[])`)
    .select(['device_id', 'row_number'])
    .execute()
  return new Map(rows.map(row => [row.device_id, row.row_number!]))
}

async function storeProblems(tx: Tx, bulkActionId: string, problems: readonly Problem[]): Promise<void> {
  if (problems.length === 0) return
  await sql`
    insert into bulk_import_problem (bulk_action_id, position, row_number, key, problem, message)
    select ${bulkActionId}, p.position, p.row, p.key, p.problem, p.message
      from json_to_recordset(${JSON.stringify(problems)}::json)
           as p (position int, "row" int, key text, problem text, message text)`.execute(tx)
}
