declare const styles: {
  readonly fields: string
  readonly pair: string
  readonly wideFirst: string
}
export default styles
