declare const styles: {
  readonly blocks: string
  readonly note: string
}
export default styles
