import type { ActionOutput } from '@muster/actions/client'
import { Download } from 'lucide-react'
import { useDeferredValue, useState } from 'react'
import { useCommand } from '../../api/queries.ts'
import { openIssued } from '../../lib/app/open-window.ts'
import { IconButton } from '../../ui/app/IconButton.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { LoadMore } from '../../ui/app/LoadMore.tsx'
import { NoMatch } from '../../ui/app/NoMatch.tsx'
import { SearchBox } from '../../ui/app/SearchBox.tsx'
import { ActionsHead, Cell, Row, Table } from '../../ui/app/Table.tsx'
import { toastError } from '../../ui/app/toast.ts'
import { AssetState } from './AssetState.tsx'
import { LIST_PAGE_SIZE } from './page-size.ts'
import { SIZE_HEAD, SizeCell } from './SizeCell.tsx'

type File = ActionOutput<'repositories_GetVersionDetails'>['assets'][number]

const COLUMNS = 4
/** Minimum number of files for a filter box above the table. */
const FILTER_FROM = 20

/** The files of a version. The hub sends all files at once. The table shows 100 at first, and 100 more per click. */
export function FileTable({ files }: { files: readonly File[] }) {
  const [filter, setFilter] = useState('')
  const [most, setMost] = useState(LIST_PAGE_SIZE)
  const text = useDeferredValue(filter.trim().toLowerCase())
  const found = files.filter(
    ({ filename, digest }) => filename.toLowerCase().includes(text) || digest.includes(text),
  )
  const shown = found.slice(0, most)
  return (
    <>
      {files.length >= FILTER_FROM && (
        <div className="tools">
          <SearchBox
            value={filter}
            onChange={setFilter}
            label="Filter assets"
            placeholder="Filter by filename or digest"
          />
        </div>
      )}
      <Table caption="Assets" head={HEAD} rowsOnPhones bare>
        {shown.map(file => (
          <FileRow key={file.filename} file={file} />
        ))}
        {shown.length === 0 && (
          <Row>
            <Cell span={COLUMNS}>
              <NoMatch what="assets" onClear={() => setFilter('')} />
            </Cell>
          </Row>
        )}
      </Table>
      {shown.length < found.length && (
        <div className="foot">
          <LoadMore
            shown={shown.length}
            total={found.length}
            what="assets"
            busy={false}
            onClick={() => setMost(most + LIST_PAGE_SIZE)}
          />
        </div>
      )}
    </>
  )
}

const HEAD = (
  <tr>
    <th scope="col">Filename</th>
    <th scope="col">Digest</th>
    <th scope="col">{SIZE_HEAD}</th>
    <ActionsHead />
  </tr>
)

function FileRow({ file }: { file: File }) {
  const { filename, assetId, digest, size, status } = file
  const issue = useCommand('repositories_IssueAssetDownloadUrl')

  async function download() {
    try {
      await openIssued(() => issue.mutateAsync({ assetId, filename }))
    } catch (error) {
      toastError(`Could not download ${filename}`, error)
    }
  }

  return (
    <Row>
      <Cell>
        <div className="stack tight">
          <bdi className="any">{filename}</bdi>
          <AssetState {...file} />
        </div>
      </Cell>
      <Cell label="Digest">
        <Id id={digest} what={`digest of ${filename}`} wide />
      </Cell>
      <SizeCell bytes={size} />
      <Cell end>
        <IconButton
          label={`Download ${filename}`}
          icon={Download}
          size="sm"
          busy={issue.isPending}
          disabled={status !== 'Available'}
          onClick={() => void download()}
        />
      </Cell>
    </Row>
  )
}
