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
import { toastError } from '../../ui/app/toast.ts'
import { ACTIONS, Cell, type Column, Row, Table } from '../../ui/lazy/Table.tsx'
import { AssetState } from './AssetState.tsx'
import { LIST_PAGE_SIZE } from './page-size.ts'
import { SIZE, SizeCell } from './SizeCell.tsx'

type File = ActionOutput<'repositories_GetVersionDetails'>['assets'][number]

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
      <Table
        caption="Assets"
        columns={COLUMNS}
        rows={shown.map(file => <FileRow key={file.filename} file={file} />)}
        none={<NoMatch what="assets" onClear={() => setFilter('')} />}
        bare
      />
      {shown.length < found.length && (
        <LoadMore
          shown={shown.length}
          total={found.length}
          what="assets"
          busy={false}
          onClick={() => setMost(most + LIST_PAGE_SIZE)}
        />
      )}
    </>
  )
}

const COLUMNS: readonly Column[] = [{ name: 'Filename', kind: 'title' }, { name: 'Digest' }, SIZE, ACTIONS]

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
          <bdi className="break-anywhere">{filename}</bdi>
          <AssetState {...file} />
        </div>
      </Cell>
      <Cell>
        <Id id={digest} what={`digest of ${filename}`} wide />
      </Cell>
      <SizeCell bytes={size} />
      <Cell>
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
