/**
 * Puts the message and stack of every failure through the payload codec, since both may quote a presigned URL: a
 * payload codec alone leaves them readable in history.
 *
 * Plain CommonJS because both the worker (by `require`) and the workflow bundler load this file by its path.
 */

const { DefaultFailureConverter } = require('@temporalio/common');

exports.failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
