import { expect, it } from 'vitest'
import { columnsBeside, DEFAULT_VIEW, isDefaultView, readView, writeView } from './column-view.ts'

const VIEW = { columns: ['status', '=app.modem.signal', '=status'], widths: { status: 120, name: 300 } }

it('reads the view that it has written', () => {
  const { projectId: _, ...kept } = writeView('p_1', VIEW)
  expect(kept).toEqual({
    columns: [{ column: 'status', widthPx: 120 }, { property: 'app.modem.signal' }, { property: 'status' }],
    nameWidthPx: 300,
  })
  expect(readView(kept as never)).toEqual(VIEW)
})

it('keeps the order, also with the default columns', () => {
  const view = { ...DEFAULT_VIEW, sort: '-=app.modem.signal' }
  const { projectId: _, ...kept } = writeView('p_1', view)
  expect(kept).toEqual({ order: '-=app.modem.signal' })
  expect(readView(kept as never)).toEqual(view)
  expect(readView(writeView('p_1', { ...VIEW, sort: 'name' }) as never)).toEqual({ ...VIEW, sort: 'name' })
})

it('writes the default view without columns, and leaves out columns that it does not know', () => {
  expect(writeView('p_1', DEFAULT_VIEW)).toEqual({ projectId: 'p_1' })
  expect(readView({})).toEqual(DEFAULT_VIEW)
  expect(readView({ columns: [{ column: 'weather' }, { column: 'update' }] as never })).toEqual({
    columns: ['update'],
    widths: {},
  })
})

it('is the default view only while no column has another width', () => {
  expect(isDefaultView(DEFAULT_VIEW)).toBe(true)
  expect(isDefaultView({ ...DEFAULT_VIEW, widths: { update: 200 } })).toBe(false)
  expect(isDefaultView({ ...DEFAULT_VIEW, columns: DEFAULT_VIEW.columns.toReversed() })).toBe(false)
})

it('shows properties of conditions beside the name once, up to 8 properties in all', () => {
  expect(columnsBeside(VIEW, ['floor', 'status', 'floor', 'site'])).toEqual(['floor', 'site'])
  const many = { columns: Array.from({ length: 7 }, (_, index) => `=p${index}`), widths: {} }
  expect(columnsBeside(many, ['a', 'b', 'p1'])).toEqual(['a'])
})
