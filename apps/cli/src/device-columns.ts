import { type ActionInput, type ActionOutput, MAX_PROPERTY_COLUMNS } from '@muster/actions/client'
import { DEVICE_FIELDS, isLabelKey, LABELS, LIST_FIELDS, type ListFieldName } from '@muster/predicates'
import { InvalidArgumentError } from 'commander'
import { CliError } from './errors.ts'

/** A device of a list. */
export type ListedDevice = ActionOutput<'projects_QueryDevices'>['devices'][number]

/** A column of a list of devices: its name, its value, and the path of the property or label that it shows. */
export type DeviceColumn = { name: string; of: (device: ListedDevice) => unknown; path?: string }

/** Columns of a list for which none were chosen. */
export const USUAL_COLUMNS = deviceColumns(
  'deviceId,name,hostname,status,connected,pendingCertificatesCount,lastConnectedAt',
)

/**
 * Reads names of columns with commas between them: fields of a device as in docs/predicates.md, `label.KEY`, and paths of properties, with
 * `=` before one that has the name of a field. Throws for a name twice and for too many properties.
 */
export function deviceColumns(text: string): DeviceColumn[] {
  const names = text.split(',').map(name => name.trim())
  const columns = names.map(deviceColumn)
  const twice = names.find((name, at) => names.indexOf(name) < at)
  if (twice !== undefined) throw new InvalidArgumentError(`The column ${twice} is named twice.`)
  const paths = columns.filter(column => column.path !== undefined)
  if (paths.length > MAX_PROPERTY_COLUMNS)
    throw new InvalidArgumentError(
      `Found ${paths.length} columns of properties and labels, expected at most ${MAX_PROPERTY_COLUMNS}.`,
    )
  return columns
}

function deviceColumn(name: string): DeviceColumn {
  if (Object.hasOwn(DEVICE_FIELDS, name)) {
    const { member = name }: { type: string; member?: string } =
      DEVICE_FIELDS[name as keyof typeof DEVICE_FIELDS]
    return { name, of: device => device[member as keyof ListedDevice] }
  }
  // A property may have the name of a field, as in sort orders.
  if (/^=[a-zA-Z0-9]/.test(name)) return columnOf(name, name.slice(1))
  const key = name.startsWith('label.') ? name.slice('label.'.length) : undefined
  if (key !== undefined && isLabelKey(key)) return columnOf(name, `${LABELS}.${key}`)
  if (key !== undefined || !/^[a-zA-Z0-9]/.test(name))
    throw new InvalidArgumentError(
      `Found the column "${name}", expected a field of a device, label.KEY, or a property.`,
    )
  return columnOf(name, name)
}

function columnOf(name: string, path: string): DeviceColumn {
  return { name, path, of: device => device.properties?.[path] }
}

/** Columns of a saved view: id and name, then those that were chosen for it. Undefined for a view without columns of its own. */
export function viewColumns(
  columns: ActionOutput<'views_Query'>['views'][number]['columns'],
): DeviceColumn[] | undefined {
  if (!columns) return undefined
  const names = new Set(['deviceId', 'name'])
  const chosen = columns.map(column => ('column' in column ? column.column : columnName(column.property)))
  return [...new Set([...names, ...chosen])].map(deviceColumn)
}

/**
 * Columns as a saved view keeps them: those of the device list, and paths of properties and labels. Id and name always stand in a list. Throws for
 * a field that is no column of the device list.
 */
export function savedColumns(columns: readonly DeviceColumn[]): SavedColumn[] {
  return columns.flatMap(({ name, path }): SavedColumn[] => {
    if (path !== undefined) return [{ property: path }]
    if (name === 'deviceId' || name === 'name') return []
    if (isListField(name)) return [{ column: name }]
    const expected = Object.keys(LIST_FIELDS).join(', ')
    throw new CliError(`A view has no column "${name}", expected ${expected}, label.KEY, or a property.`)
  })
}

type SavedColumn = NonNullable<ActionInput<'views_Create'>['columns']>[number]

function isListField(name: string): name is Exclude<ListFieldName, 'name'> {
  return Object.hasOwn(LIST_FIELDS, name)
}

/** Name of the column of a path of a view, which has labels below the property of the labels. */
function columnName(path: string): string {
  if (path.startsWith(`${LABELS}.`)) return `label.${path.slice(LABELS.length + 1)}`
  return Object.hasOwn(DEVICE_FIELDS, path) ? `=${path}` : path
}
