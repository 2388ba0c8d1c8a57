declare const styles: {
  readonly tables: string
}
export default styles
