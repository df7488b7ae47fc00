// Folders of the product, like its files, form no cycles. Without tests: test/support, which unit
// tests use, imports the product.
const { options } = require('./.dependency-cruiser.cjs');

module.exports = {
  forbidden: [
    { name: 'no cycles between folders', severity: 'error', scope: 'folder', from: {}, to: { circular: true } },
  ],
  options: { ...options, exclude: { path: '^(dist|test)/|\\.test\\.ts$' } },
};
