/* SPDX-License-Identifier: MIT
 * A process's share of a live file: whether it opened the file itself and joined its writers, what
 * it has added since its last commit, and the locks between its threads. fork() wipes it: a child
 * has opened, joined and added nothing, and holds no lock. */
#ifndef BLOOMFILE_SESSION_H
#define BLOOMFILE_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "handle/lock.h"
#include "kernel/kernel.h"

#define SESSION_SHARDS 16

struct session_counts {
    atomic_llong keys, ones, overflow;
};

struct session {
    bool own;              /* opened by this process; under `syncs` */
    atomic_bool joined;    /* the writers */
    pthread_mutex_t syncs; /* held to join, to sync and to commit */
    /* the highest that were read or written; ones: of records whose counts are complete */
    atomic_uint_least64_t sequences, ones;
    uint64_t durable;       /* 1 + sequence of a record that is known to be on disk; 0: none is */
    pthread_mutex_t counts; /* held while they move to a record, and to read both */
    struct kernel_change committing; /* counts on their way to a record, */
    uint64_t committing_over;        /* which comes after the one of this sequence */
    pthread_mutex_t removal;
    pthread_rwlock_t stripes; /* shared by those who hold one */
    pthread_mutex_t stripe[LOCK_STRIPE_COUNT];
    struct session_shard {
        _Alignas(64) atomic_uintptr_t owner; /* the first thread that counted here; 0: none has */
        struct session_counts own;           /* by the owner alone, and never taken back */
        struct session_counts taken;         /* of `own`, by session_take() */
        _Alignas(64) struct session_counts others;
    } shards[SESSION_SHARDS]; /* nearly one for each thread */
};

/* 0 or an errno. */
int session_new(struct session **out);
void session_free(struct session *s);

/* Counts what was changed; any thread. */
void session_count(struct session *s, const struct kernel_change *change);

/* What has been counted and is not on its way to a record. */
struct kernel_change session_counted(const struct session *s);

/* Takes what has been counted to a record, over the one of `sequence`. session_taken() is due: with
 * `committed` false it is given back. One commit at a time. */
struct kernel_change session_take(struct session *s, uint64_t sequence);
void session_taken(struct session *s, bool committed);

/* What the record of `sequence` lacks. The record must be read, and this called, with `counts`
 * held. */
struct kernel_change session_missing(const struct session *s, uint64_t sequence);

/* For BLOOMFILE_ADD_EXACT: keeps everybody else, here and in other processes, from adding keys of
 * the digest's stripe, or of any. 0, or an errno and nothing is held. */
int session_lock_stripe(struct session *s, int fd, uint64_t digest);
void session_unlock_stripe(struct session *s, int fd, uint64_t digest);
int session_lock_stripes(struct session *s, int fd);
void session_unlock_stripes(struct session *s, int fd);

/* Keeps everybody else from removing. */
int session_lock_removal(struct session *s, int fd);
void session_unlock_removal(struct session *s, int fd);

#endif
