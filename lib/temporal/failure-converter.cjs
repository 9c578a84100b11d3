/**
 * A payload codec alone leaves message and stack of failures readable in history. CommonJS, because the worker and
 * the workflow bundler load this file by its path.
 */

const { DefaultFailureConverter } = require('@temporalio/common');

exports.failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
