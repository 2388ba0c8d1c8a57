declare const styles: {
  readonly count: string
  readonly find: string
  readonly lists: string
  readonly view: string
  readonly views: string
}
export default styles
