import { getRouteApi } from '@tanstack/react-router'
import { File } from 'lucide-react'
import { useActionPages } from '../../api/queries.ts'
import { anyText, oneOf, usePageSearch } from '../../lib/app/search.ts'
import { EmptyState } from '../../ui/app/EmptyState.tsx'
import { FilterBox } from '../../ui/app/FilterBox.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { ListPage } from '../../ui/app/ListPage.tsx'
import { NoMatch } from '../../ui/app/NoMatch.tsx'
import { Cell, type Column, Row, Table } from '../../ui/lazy/Table.tsx'
import { AssetState } from './AssetState.tsx'
import { LIST_PAGE_SIZE } from './page-size.ts'
import { SIZE, SizeCell } from './SizeCell.tsx'

/** Search parameters of the list of assets. */
export const assetsSearch = { q: anyText, sort: oneOf(['size', '-size']) }

const COLUMNS: readonly Column[] = [
  { name: 'Name', kind: 'title' },
  { name: 'Digest' },
  { ...SIZE, sort: 'size' },
]

const route = getRouteApi('/authenticated/org_{$organization}/repositories/$repositoryId/assets')

/** The blobs of a repository, newest first by default. */
export function AssetsPage() {
  const { repositoryId } = route.useParams()
  const [{ q, sort }, change] = usePageSearch(assetsSearch)
  const text = q?.trim()
  const list = useActionPages('repositories_QueryAssets', {
    repositoryId,
    limit: LIST_PAGE_SIZE,
    ...(text && { filter: { text } }),
    ...(sort && { sort }),
  })
  const assets = list.data?.pages.flatMap(page => page.assets)
  return (
    <ListPage title="Assets" what="assets" list={list} shown={assets?.length}>
      {assets?.length === 0 && !text && !list.isPlaceholderData ? (
        <EmptyState icon={File} title="No assets.">
          Files that the command-line tool uploads into versions are listed here, each content once.
        </EmptyState>
      ) : (
        <>
          <div className="tools">
            <FilterBox
              value={q ?? ''}
              onChange={value => change({ q: value })}
              label="Filter assets"
              placeholder="Filter by id or digest"
            />
          </div>
          <Table
            caption="Assets"
            columns={COLUMNS}
            sort={sort}
            onSort={next => change({ sort: next })}
            rows={assets?.map(asset => (
              <Row key={asset.assetId}>
                <Cell>
                  <div className="stack tight">
                    <Id id={asset.assetId} what="asset id" />
                    <AssetState status={asset.status} />
                  </div>
                </Cell>
                <Cell>
                  <Id id={asset.digest} what="digest" wide />
                </Cell>
                <SizeCell bytes={asset.size} />
              </Row>
            ))}
            none={<NoMatch what="assets" onClear={() => change({ q: '' })} />}
          />
        </>
      )}
    </ListPage>
  )
}
