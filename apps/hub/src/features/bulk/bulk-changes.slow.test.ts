import { MAX_IMPORT_PORTION, MAX_IMPORT_ROWS } from '@muster/actions'
import { testHub, until } from '@muster/testkit'
import { expect, it } from 'vitest'

it('imports 100,000 rows, is cancelled while it runs, and undoes what it has done', async () => {
  await using hub = await testHub()
  const owner = await hub.user()
  const projectId = await hub.project(owner, await hub.organization(owner))
  await hub.pool.query(
    `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, hostname)
     select 'd_' || translate(left(md5($1 || i), 22), '0', 'z'), $1, 'd_pk_' || md5($1 || i), decode(md5($1 || i), 'hex'), 'Gate-' || i
       from generate_series(1, $2::int) i`,
    [projectId, MAX_IMPORT_ROWS],
  )
  await hub.pool.query('analyze device')
  const { bulkActionId } = await owner.invoke('devices_CreateBulkImport', {
    projectId,
    by: 'hostname',
    columns: ['name', 'label.site'],
  })
  for (let from = 0; from < MAX_IMPORT_ROWS; from += MAX_IMPORT_PORTION)
    await owner.invoke('devices_AddBulkImportRows', {
      projectId,
      bulkActionId,
      rows: Array.from({ length: MAX_IMPORT_PORTION }, (_, at) => ({
        row: from + at + 2,
        key: `gate-${from + at + 1}`,
        values: [`Gate ${from + at + 1}`, `pier${at % 40}`],
      })),
    })
  const preview = await owner.invoke('devices_GetBulkPreview', { projectId, bulkActionId })
  expect(preview).toMatchObject({ rowCount: MAX_IMPORT_ROWS, changeCount: MAX_IMPORT_ROWS, problems: [] })
  await owner.invoke('devices_StartBulkChange', { projectId, bulkActionId })
  const stateOf = (id: string) => owner.invoke('devices_GetBulkAction', { projectId, bulkActionId: id })
  await until(
    'some devices are changed',
    async () => (await stateOf(bulkActionId)).succeededCount > 1000,
    60_000,
  )
  await owner.invoke('devices_CancelBulkAction', { projectId, bulkActionId })
  const { status, succeededCount, skippedCount, failedCount } = await stateOf(bulkActionId)
  expect([status, skippedCount, failedCount]).toEqual(['Cancelled', 0, 0])
  const counts = async () => {
    const { rows } = await hub.pool.query(
      `select count(*) filter (where name is not null)::int as named, (select count(*)::int from device_label where project_id = $1) as labelled
         from device where project_id = $1`,
      [projectId],
    )
    return rows[0]
  }
  expect(await counts()).toEqual({ named: succeededCount, labelled: succeededCount })
  const undo = await owner.invoke('devices_StartBulkUndo', { projectId, bulkActionId })
  const undone = await until(
    'the undo ends',
    async () => {
      const state = await stateOf(undo.bulkActionId)
      return state.status === 'Completed' && state
    },
    120_000,
  )
  expect(undone).toMatchObject({ itemCount: succeededCount, succeededCount })
  expect(await counts()).toEqual({ named: 0, labelled: 0 })
}, 300_000)
